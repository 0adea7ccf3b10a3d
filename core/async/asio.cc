// Asio, compiled once for the whole house.
#include <boost/asio/impl/src.hpp>
