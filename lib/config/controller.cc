// SPDX-License-Identifier: BSD-3-Clause
// From configuration to congestion controller (MRC 8.4).
#include <fmt/format.h>

#include "config/endpoint_config.h"
#include "wire/sizes.h"

namespace mrc::config {
namespace {

Result<cc::NsccParams> nscc_params(const EndpointConfig& config, double rate_bps, double share) {
  const CcConfig& c = config.cc;
  cc::NsccLink link;
  link.rate_bps = rate_bps * share;
  if (link.rate_bps <= 0)
    return Error{fmt::format(
        "rate_gbps: nscc needs the rate of all planes together, which {}; set it (--rate-gbps N), or use "
        "another cc.mode (--cc fixed)",
        config.profile == Profile::kVirtual
            ? "a fabric without a limit (fabric.link_gbps 0) does not have"
            : fmt::format("the ports of profile {} do not tell", name_of(config.profile)))};
  link.base_rtt = config.qp.policy.base_rtt;
  // Nominal, as the windows count (C25): a full packet with everything that it may carry.
  link.mtu_bytes = wire::write_nominal_bytes(wire::Opcode::kWriteLastImm, config.qp.policy.use_timestamps,
                                             config.qp.attr.path_mtu);
  link.trimming = config.qp.attr.trim_nack;
  Result<cc::NsccParams> params = cc::derive_nscc(link);
  if (!params) return params;
  if (c.max_window_bytes != 0) params->max_cwnd_bytes = static_cast<std::int64_t>(c.max_window_bytes);
  if (c.target_delay.ns != 0) params->target_delay = c.target_delay;
  params->disable_qa = !c.quick_adapt;
  // One sample that a clock or a gap made too small would shrink the window for ever (D18).
  params->min_base_rtt = params->base_rtt / 2;
  if (Result<void> ok = params->check(); !ok) return ok.error();
  return params;
}

}  // namespace

double rate_of_planes(const EndpointConfig& config, double port_bps) {
  if (config.cc.rate_gbps > 0) return config.cc.rate_gbps * 1e9;
  const std::size_t planes = config.planes.empty() ? config.plane_count : config.planes.size();
  const FabricConfig& f = config.fabric;
  if (config.profile == Profile::kVirtual)
    return static_cast<double>(planes * f.paths_per_plane) * f.link_gbps * 1e9;
  return static_cast<double>(planes) * port_bps;
}

Result<cc::Qpcc::Algorithm> make_controller(const EndpointConfig& config, double rate_bps, double share,
                                            Time now) {
  switch (config.cc.mode) {
    case CcMode::kOff:
      return cc::Qpcc::Algorithm(cc::FixedWindow::off());
    case CcMode::kFixed:
      return cc::Qpcc::Algorithm(cc::FixedWindow(static_cast<std::int64_t>(config.cc.window_bytes)));
    case CcMode::kNscc:
      break;
  }
  Result<cc::NsccParams> params = nscc_params(config, rate_bps, share);
  if (!params) return Error{"cc." + params.error().message};
  return cc::Qpcc::Algorithm(cc::Nscc(*params, now));
}

Result<void> check_controller(const EndpointConfig& config) {
  if (config.cc.mode != CcMode::kNscc || config.profile == Profile::kEthdev) return {};
  const Result<cc::NsccParams> params = nscc_params(config, rate_of_planes(config, 0), 1);
  if (!params) return Error{"cc." + params.error().message};
  return {};
}

std::string describe_controller(const EndpointConfig& config, double rate_bps) {
  switch (config.cc.mode) {
    case CcMode::kOff:
      return "congestion control: off";
    case CcMode::kFixed:
      return fmt::format("congestion control: a fixed window of {} bytes to a destination",
                         config.cc.window_bytes);
    case CcMode::kNscc:
      break;
  }
  const Result<cc::NsccParams> p = nscc_params(config, rate_bps, 1);
  if (!p) return "congestion control: nscc, refused: " + p.error().message;
  return fmt::format(
      "congestion control: nscc for {:.1f} Gb/s and a base RTT of {:.1f} us: window up to {} bytes, target "
      "delay {:.1f} us",
      rate_bps * 1e-9, static_cast<double>(p->base_rtt.ns) * 1e-3, p->max_cwnd_bytes,
      static_cast<double>(p->target_delay.ns) * 1e-3);
}

}  // namespace mrc::config
