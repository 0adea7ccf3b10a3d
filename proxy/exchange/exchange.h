// Exchange: one allowed HTTP request to its upstream, and its response back to the client.
//
// The request is written canonically, its body streamed while the response is already being read; the last byte of the response is
// held until the audit log has the request. Bytes are counted on the upstream side: heads, framing and bodies.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/http/chunk_decoder.h"
#include "core/http/request_head.h"
#include "core/http/response_head.h"
#include "proxy/client/connection.h"
#include "proxy/client/refusal.h"
#include "proxy/exchange/form_body.h"
#include "proxy/tunnel/tunnel.h"

namespace sallyport::proxy {

// Memory that the exchanges of one client connection use one after the other.
struct ExchangeBuffers {
  static constexpr std::size_t kKept = 16 * 1024;  // more is given back after an exchange

  std::string method, target, decision_id;
  std::string request;  // its head, as it goes upstream
  std::string answer;   // for the client, not yet written
  http::ResponseHead response;

  void shrink() noexcept;
};

class Exchange {
 public:
  // Largest form that is read for its keys before it goes on.
  static constexpr std::size_t kMaxForm = 64 * 1024;

  // `verdict` is an allowing one; it and the policy that it borrows from outlive the exchange. `head` is read here and not later.
  // `target` is the canonical origin-form. `decision_id`: what the audit log has it under. `buffers` outlive the exchange; nobody else
  // uses them meanwhile.
  Exchange(ClientConnection& client, const policy::HttpVerdict& verdict, const http::RequestHead& head,
           const policy::CanonicalTarget& target, std::string decision_id, ExchangeBuffers& buffers);

  // False: the client connection is of no further use.
  Awaitable<bool> run();

 private:
  struct Fault {
    policy::ReasonCode reason;
    std::string detail;
  };

  // Request side.
  Result<void> write_head(const http::RequestHead& head);
  Awaitable<bool> check_form();
  Awaitable<bool> prepare();
  bool reserve_upload_now();
  Awaitable<bool> reserve_upload();
  bool take_kept_connection();
  Awaitable<bool> dial();
  void use_connection() noexcept;
  bool send_head_now();
  Awaitable<bool> send_rest_of_head();
  Awaitable<void> pump_body();
  Awaitable<void> pump_body_then_tell();
  Awaitable<bool> pump_length();
  Awaitable<bool> pump_chunked();
  Awaitable<bool> send_chunk(std::string_view data);
  Awaitable<bool> to_upstream(std::string_view data);
  void charge_upload(std::size_t size) noexcept;
  void take_body(std::size_t size);
  Awaitable<void> join_body();

  // Response side.
  Awaitable<bool> attempt();
  Awaitable<bool> exchange_once();
  Awaitable<bool> prepare_retry();
  Awaitable<bool> read_response_head();
  Awaitable<bool> pass_interim();
  Awaitable<bool> relay_response();
  Awaitable<bool> relay_length(std::uint64_t left);
  Awaitable<bool> relay_chunked();
  Awaitable<bool> relay_until_close();
  void append_body(std::string_view data);
  bool flush_now(std::string_view& data);
  Awaitable<bool> flush_inner();
  Awaitable<bool> flush(std::string_view data = {});
  Awaitable<bool> finish(std::string_view last = {});
  Awaitable<Result<std::size_t>> read_upstream();

  Awaitable<bool> refuse();
  void begin_answer() noexcept;
  bool fail_with(policy::ReasonCode reason, std::string detail = {});
  void reach_limit(Resource resource, bool rule_limit);
  Result<audit::Sequence> record_request(std::string_view error);
  bool may_retry() const noexcept;
  void release_reserved() noexcept;
  void account() noexcept;
  void touch() noexcept;

  ClientConnection& client_;
  Task& task_;
  const policy::ApprovedDestination& destination_;
  LimitSet limits_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point touched_{};

  // Of the request, copied: the input buffer moves while its body is read.
  std::string &method_, &target_, &decision_id_;
  std::uint8_t client_minor_;
  bool client_keep_alive_;
  http::Framing request_body_;  // length: what is still to come
  bool had_body_;
  std::string& request_text_;
  FormBody form_ = FormBody::kNo;  // other than kNo: to be looked at before anything goes upstream
  bool asks_continue_ = false;     // for the form: here, not upstream

  std::unique_ptr<UpstreamConnection> upstream_;
  std::size_t head_sent_ = 0;      // of the request's head, in bytes
  std::uint64_t reserved_up_ = 0;  // taken of the upload allowance, not yet written
  std::uint64_t up_ = 0, down_ = 0;
  bool body_done_ = true, body_joined_ = true, discard_body_ = false;
  async::Event body_ended_;

  http::ResponseHead& response_;
  http::Framing client_body_;
  std::string& out_;  // for the client, not yet written
  bool answering_ = false;        // a byte of the final response has gone out
  bool upstream_spoke_ = false;
  bool recorded_ = false;         // the request is on file
  bool download_cut_ = false;     // the budget ended within what was read last; what came behind it is dropped
  std::optional<Fault> fault_;
};

}  // namespace sallyport::proxy
