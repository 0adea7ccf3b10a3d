#include "core/dns/protocol.h"

namespace sallyport::dns {

std::string to_string(Type type) {
  switch (type) {
    case Type::kA:
      return "A";
    case Type::kNs:
      return "NS";
    case Type::kCname:
      return "CNAME";
    case Type::kSoa:
      return "SOA";
    case Type::kNull:
      return "NULL";
    case Type::kPtr:
      return "PTR";
    case Type::kMx:
      return "MX";
    case Type::kTxt:
      return "TXT";
    case Type::kAaaa:
      return "AAAA";
    case Type::kSrv:
      return "SRV";
    case Type::kNaptr:
      return "NAPTR";
    case Type::kDname:
      return "DNAME";
    case Type::kOpt:
      return "OPT";
    case Type::kDs:
      return "DS";
    case Type::kSshfp:
      return "SSHFP";
    case Type::kDnskey:
      return "DNSKEY";
    case Type::kTlsa:
      return "TLSA";
    case Type::kSmimea:
      return "SMIMEA";
    case Type::kOpenpgpkey:
      return "OPENPGPKEY";
    case Type::kSvcb:
      return "SVCB";
    case Type::kHttps:
      return "HTTPS";
    case Type::kIxfr:
      return "IXFR";
    case Type::kAxfr:
      return "AXFR";
    case Type::kAny:
      return "ANY";
    case Type::kUri:
      return "URI";
    case Type::kCaa:
      return "CAA";
  }
  return "TYPE" + std::to_string(static_cast<unsigned>(type));
}

std::string to_string(Rcode rcode) {
  switch (rcode) {
    case Rcode::kNoError:
      return "NOERROR";
    case Rcode::kFormErr:
      return "FORMERR";
    case Rcode::kServFail:
      return "SERVFAIL";
    case Rcode::kNxDomain:
      return "NXDOMAIN";
    case Rcode::kNotImp:
      return "NOTIMP";
    case Rcode::kRefused:
      return "REFUSED";
    case Rcode::kBadVers:
      return "BADVERS";
  }
  return "RCODE" + std::to_string(static_cast<unsigned>(rcode));
}

}  // namespace sallyport::dns
