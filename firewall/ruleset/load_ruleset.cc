#include "firewall/ruleset/load_ruleset.h"

#include <nftables/libnftables.h>

#include <memory>

#include "core/base/escape.h"
#include "firewall/api/plan.h"
#include "firewall/inspect/packet_filters.h"

namespace sallyport::firewall {

namespace {

struct FreeContext {
  void operator()(nft_ctx* context) const noexcept { nft_ctx_free(context); }
};

Result<void> run(const std::string& text) {
  std::unique_ptr<nft_ctx, FreeContext> context(nft_ctx_new(NFT_CTX_DEFAULT));
  if (!context) return fail(ErrorKind::kUnavailable, "libnftables cannot be started");
  if (nft_ctx_buffer_output(context.get()) != 0 || nft_ctx_buffer_error(context.get()) != 0) {
    return fail(ErrorKind::kOverloaded, "libnftables: no memory");
  }
  if (nft_run_cmd_from_buffer(context.get(), text.c_str()) == 0) return success();
  const char* said = nft_ctx_get_error_buffer(context.get());
  return fail(ErrorKind::kUnavailable, "nftables: " + escape_text(said ? said : "no reason given", 300));
}

// The count skips zero when it wraps.
constexpr std::uint32_t next_generation(std::uint32_t generation) noexcept {
  return generation + 1 == 0 ? 1 : generation + 1;
}

}  // namespace

Result<LoadedRuleset> load_ruleset() {
  BOOST_OUTCOME_TRY(std::uint32_t before, nft_generation());
  LoadedRuleset loaded{0, PacketLog::kOn};
  if (!run(ruleset_text(PacketLog::kOn))) {
    loaded.log = PacketLog::kOff;
    BOOST_OUTCOME_TRY(run(ruleset_text(PacketLog::kOff)));
  }
  BOOST_OUTCOME_TRY(std::uint32_t after, nft_generation());
  if (after != next_generation(before))
    return fail(ErrorKind::kDenied, "somebody else changes the namespace's nftables rules");
  loaded.generation = after;
  BOOST_OUTCOME_TRY(check_ruleset(loaded));
  return loaded;
}

Result<void> check_ruleset(const LoadedRuleset& loaded) {
  BOOST_OUTCOME_TRY(auto tables, list_filter_tables(UnreadableLegacy::kPassOver));
  bool found = false;
  for (const FilterTable& table : tables) {
    if (table == FilterTable{"inet", std::string(kTableName)}) {
      found = true;
      continue;
    }
    return fail(ErrorKind::kDenied, "there is another table: " + table.family + " " + escape_text(table.name, 64));
  }
  if (!found) return fail(ErrorKind::kDenied, "our table is gone");
  BOOST_OUTCOME_TRY(std::uint32_t now, nft_generation());
  if (now != loaded.generation) return fail(ErrorKind::kDenied, "the rules were changed after they were loaded");
  return success();
}

}  // namespace sallyport::firewall
