// SPDX-License-Identifier: BSD-3-Clause
// The configuration loader against arbitrary bytes: it returns a configuration or an error, whatever comes;
// and what it accepts prints to something that it accepts again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/endpoint_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = mrc::config::load_endpoint_text(text, "fuzz");
  if (!config) {
    if (config.error().message.empty()) std::abort();
    return 0;
  }
  const std::string printed = mrc::config::print_endpoint(*config, true);
  const auto again = mrc::config::load_endpoint_text(printed, "printed");
  if (!again || mrc::config::print_endpoint(*again, true) != printed) std::abort();
  return 0;
}
