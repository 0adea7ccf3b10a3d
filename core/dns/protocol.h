// Numbers of the DNS protocol that Sallyport gives a meaning to (IANA "Domain Name System (DNS) Parameters").
#pragma once

#include <cstdint>
#include <string>

namespace sallyport::dns {

// A question's or record's type. Values without a name here occur: a question may carry any number.
enum class Type : std::uint16_t {
  kA = 1,
  kNs = 2,
  kCname = 5,
  kSoa = 6,
  kNull = 10,
  kPtr = 12,
  kMx = 15,
  kTxt = 16,
  kAaaa = 28,
  kSrv = 33,
  kNaptr = 35,
  kDname = 39,
  kOpt = 41,
  kDs = 43,
  kSshfp = 44,
  kDnskey = 48,
  kTlsa = 52,
  kSmimea = 53,
  kOpenpgpkey = 61,
  kSvcb = 64,
  kHttps = 65,
  kIxfr = 251,
  kAxfr = 252,
  kAny = 255,
  kUri = 256,
  kCaa = 257,
};
// "A", "HTTPS", "TYPE65399" (RFC 3597).
std::string to_string(Type type);

enum class Class : std::uint16_t { kIn = 1, kChaos = 3, kAny = 255 };

enum class Rcode : std::uint16_t {
  kNoError = 0,
  kFormErr = 1,
  kServFail = 2,
  kNxDomain = 3,
  kNotImp = 4,
  kRefused = 5,
  kBadVers = 16,  // needs an OPT record in the reply
};
std::string to_string(Rcode rcode);

// Extended DNS Errors (RFC 8914 section 4).
enum class ExtendedCode : std::uint16_t {
  kOther = 0,
  kForgedAnswer = 4,
  kBlocked = 15,
  kCensored = 16,
  kFiltered = 17,
  kProhibited = 18,
  kNotReady = 14,
  kNotSupported = 21,
};

// Where a message travels; it bounds the reply's size.
enum class Transport { kUdp, kTcp };

// The largest UDP reply we send and ask for: no fragmentation on any usual path (DNS flag day 2020).
inline constexpr std::uint16_t kUdpPayload = 1232;
// What a client without EDNS can take (RFC 1035 section 4.2.1).
inline constexpr std::uint16_t kPlainUdpPayload = 512;
inline constexpr std::size_t kHeaderSize = 12;

}  // namespace sallyport::dns
