// SPDX-License-Identifier: BSD-3-Clause
// The virtual fabric of `run --loopback` as the configuration describes it. No DPDK.
#pragma once

#include "base/result.h"
#include "config/endpoint_config.h"
#include "fabric/topology.h"

namespace mrc::endpoint {

/// Two hosts, parallel paths on each plane; switches have uSIDs when EVs are SRv6. Errors: more planes or
/// paths than the uSIDs can tell.
Result<fabric::Topology> virtual_topology(const config::EndpointConfig& config);

/// EVs of SRv6 are addresses that only the network can name: makes `config.ev` the explicit profile of all
/// ways from host `from` to the other one, in the order of planes. Other formats are left alone.
Result<void> name_ways(config::EndpointConfig& config, const fabric::Topology& topology, fabric::HostId from);

}  // namespace mrc::endpoint
