// SPDX-License-Identifier: BSD-3-Clause
// The HTML report of `run` and `serve`: results and samples on one page.
#pragma once

#include "config/endpoint_config.h"
#include "live_sampler.h"
#include "report/html/page.h"
#include "report/result.h"

namespace mrc::endpoint {

report::html::Page page_of(const report::RunResult& result, const config::EndpointConfig& config,
                           const LiveSampler& sampler);

}  // namespace mrc::endpoint
