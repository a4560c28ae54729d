// SPDX-License-Identifier: BSD-3-Clause
// The field arithmetic of 5.3: checks, expansion, generation.
#include <bit>
#include <cassert>
#include <limits>
#include <string>

#include "path/profile.h"

namespace mrc::path {
namespace {

using std::to_string;

constexpr std::size_t kEvBits = 8 * sizeof(EvValue);

bool bit_at(const EvValue& v, std::size_t pos) {
  return (v[pos / 8] >> (7 - pos % 8) & 1) != 0;
}
void set_bit(EvValue& v, std::size_t pos) {
  v[pos / 8] = static_cast<std::uint8_t>(v[pos / 8] | 1U << (7 - pos % 8));
}

std::uint64_t limit_of(std::uint32_t bits) {  // 64 bits: a full 32-bit field is legal
  return (std::uint64_t{1} << bits) - 1;
}

/// Range of the compacted value; min = max = 0 with a mask means the full range (C29).
struct Range {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
};
Range range_of(const EvField& f) {
  if (f.mask == 0) return {0, 0};
  if (f.min_val == 0 && f.max_val == 0)
    return {0, limit_of(static_cast<std::uint32_t>(std::popcount(f.mask)))};
  return {f.min_val, f.max_val};
}

Error field_error(std::size_t i, const std::string& what) {
  return Error{"EV profile: field " + to_string(i) + ": " + what};
}

Result<void> check_field(std::size_t i, const EvField& f) {
  if (f.width < 1 || f.width > 32)
    return field_error(i, "width is " + to_string(f.width) + "; it must be 1 to 32: split wider fields");
  if (f.init_val > limit_of(f.width))
    return field_error(i, "init_val is " + to_string(f.init_val) + "; the largest that fits " +
                              to_string(f.width) + " bits is " + to_string(limit_of(f.width)) +
                              ": lower it or widen the field");
  if (f.mask > limit_of(f.width))
    return field_error(i, "mask has bits at or above its width of " + to_string(f.width) +
                              ": clear them or widen the field");
  if (f.min_val > f.max_val)
    return field_error(
        i, "min_val " + to_string(f.min_val) + " is above max_val " + to_string(f.max_val) + ": swap them");
  if (f.mask == 0 && f.max_val != 0)
    return field_error(i,
                       "max_val is " + to_string(f.max_val) +
                           " but mask is 0, a constant field: set min_val and max_val to 0 or give a mask");
  const auto mask_limit = limit_of(static_cast<std::uint32_t>(std::popcount(f.mask)));
  if (f.max_val > mask_limit)
    return field_error(i, "max_val is " + to_string(f.max_val) + "; the " + to_string(std::popcount(f.mask)) +
                              " bits of its mask hold at most " + to_string(mask_limit) +
                              ": lower it or widen the mask");
  return {};
}

}  // namespace

Result<void> check_fields(EvFormat format, std::span<const std::uint8_t> format_widths,
                          std::span<const EvField> fields) {
  std::uint64_t format_bits = 0;
  for (std::size_t i = 0; i < format_widths.size(); ++i) {
    if (format_widths[i] < 1 || format_widths[i] > 32)
      return Error{"EV format: field " + to_string(i) + " is " + to_string(format_widths[i]) +
                   " bits wide; it must be 1 to 32"};
    format_bits += format_widths[i];
  }
  if (format_bits > 8 * width_bytes(format))
    return Error{"EV format: the fields add up to " + to_string(format_bits) + " bits; " + to_string(format) +
                 " carries " + to_string(8 * width_bytes(format)) + ": narrow or remove fields"};
  if (fields.size() > format_widths.size())
    return Error{"EV profile: " + to_string(fields.size()) + " fields but the format has " +
                 to_string(format_widths.size()) + ": remove fields or extend the format"};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (auto r = check_field(i, fields[i]); !r) return r;
    // Implied by the sums only when all fields are present; a narrower slot would lose the top bits.
    if (fields[i].width > format_widths[i])
      return field_error(i, "width is " + to_string(fields[i].width) + " but the format's slot has " +
                                to_string(format_widths[i]) + " bits: narrow the field or widen the slot");
  }
  return {};
}

Result<EvValue> expand(std::span<const std::uint8_t> format_widths, std::span<const EvField> fields,
                       const EvValue& ev) {
  EvValue out{};
  std::size_t taken = 0;
  std::size_t written = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const EvField& f = fields[i];
    std::uint64_t value = f.init_val;
    std::uint64_t compact = 0;
    for (std::uint32_t b = f.width; b-- > 0;) {
      if ((f.mask >> b & 1U) == 0) continue;
      const std::uint64_t bit = bit_at(ev, taken++) ? 1 : 0;
      value = (value & ~(std::uint64_t{1} << b)) | bit << b;
      compact = compact << 1 | bit;
    }
    const Range range = range_of(f);
    if (compact < range.lo || compact > range.hi)
      return field_error(i, "the EV gives it " + to_string(compact) + "; allowed is " + to_string(range.lo) +
                                " to " + to_string(range.hi) +
                                ": change the EV or the field's min_val and max_val");
    for (std::uint32_t b = format_widths[i]; b-- > 0; ++written)
      if ((value >> b & 1U) != 0) set_bit(out, written);
  }
  for (std::size_t pos = taken; pos < kEvBits; ++pos)
    if (bit_at(ev, pos))
      return Error{"EV profile: bit " + to_string(pos) + " of the EV is set but the fields take " +
                   to_string(taken) + " bits: left-align the EV and pad it with zeros"};
  return out;
}

std::uint64_t combinations(std::span<const EvField> fields) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  std::uint64_t product = 1;
  for (const EvField& f : fields) {
    const Range r = range_of(f);
    const std::uint64_t n = r.hi - r.lo + 1;
    if (product > kLimit / n) return kLimit;
    product *= n;
  }
  return product;
}

EvValue generated_ev(std::span<const EvField> fields, std::uint64_t index) {
  assert(index < combinations(fields));
  EvValue ev{};
  std::size_t end = 0;
  for (const EvField& f : fields) end += static_cast<std::size_t>(std::popcount(f.mask));
  for (std::size_t i = fields.size(); i-- > 0;) {  // from the last field, which counts fastest
    const Range r = range_of(fields[i]);
    const std::uint64_t n = r.hi - r.lo + 1;
    const std::uint64_t compact = r.lo + index % n;
    index /= n;
    const auto bits = static_cast<std::size_t>(std::popcount(fields[i].mask));
    for (std::size_t b = 0; b < bits; ++b)
      if ((compact >> b & 1U) != 0) set_bit(ev, end - 1 - b);
    end -= bits;
  }
  return ev;
}

}  // namespace mrc::path
