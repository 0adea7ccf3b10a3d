// Layout: a YAML tree written anew with its comments. For format.cc.
#pragma once

#include <string>

#include "policies/edit/comments.h"

namespace sallyport::policy::edit {

std::string lay_out(const YamlNode& root, const Comments& comments);

// Whether two trees hold the same keys and values in the same order, however they are written.
bool same_tree(const YamlNode& a, const YamlNode& b);

}  // namespace sallyport::policy::edit
