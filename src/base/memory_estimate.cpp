#include "base/memory_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "margrove/errors.hpp"

namespace margrove {
namespace {
constexpr double kGigabyte = 1e9;
constexpr double kLeastShare = 0.01;  // smaller shares of the total are left out of texts
}  // namespace

void MemoryEstimate::add(const std::string& name, double bytes) {
  if (!(bytes > 0)) return;
  const auto found = std::find_if(parts_.begin(), parts_.end(),
                                  [&](const Part& part) { return part.name == name; });
  if (found != parts_.end()) {
    found->bytes += bytes;
  } else {
    parts_.push_back({name, bytes});
  }
}

void MemoryEstimate::add(const MemoryEstimate& other) {
  for (const Part& part : other.parts_) add(part.name, part.bytes);
}

MemoryEstimate MemoryEstimate::times(double factor) const {
  MemoryEstimate result;
  for (const Part& part : parts_) result.add(part.name, factor * part.bytes);
  return result;
}

std::uint64_t MemoryEstimate::total() const {
  double sum = 0;
  for (const Part& part : parts_) sum += part.bytes;
  return static_cast<std::uint64_t>(sum);
}

std::string MemoryEstimate::to_text() const {
  std::vector<Part> sorted = parts_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
  const double least = kLeastShare * static_cast<double>(total());
  std::string text;
  for (const Part& part : sorted) {
    if (part.bytes < least) continue;
    // Two digits, as the estimate is no more accurate.
    const double unit = std::pow(10.0, std::floor(std::log10(part.bytes)) - 1);
    const double rounded = std::round(part.bytes / unit) * unit / kGigabyte;
    text +=
        concat(text.empty() ? "" : ", ", part.name, " ", std::round(rounded * 1e6) / 1e6, " GB");
  }
  return text;
}

MemoryEstimate larger_of(MemoryEstimate first, MemoryEstimate second) {
  return first.total() >= second.total() ? std::move(first) : std::move(second);
}

}  // namespace margrove
