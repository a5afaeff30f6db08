#pragma once
// An estimate of the memory of a run, by its parts.

#include <cstdint>
#include <string>
#include <vector>

namespace margrove {

/// Bytes by part: an upper estimate of the peak (tests/unit/methods/memory_test.cpp bounds its
/// excess).
class MemoryEstimate {
 public:
  struct Part {
    std::string name;
    double bytes;
  };
  /// Parts of the same name are added up; a part without bytes is left out.
  void add(const std::string& name, double bytes);
  /// Adds all parts of another estimate.
  void add(const MemoryEstimate& other);
  /// The estimate with every part times the factor.
  MemoryEstimate times(double factor) const;
  const std::vector<Part>& parts() const { return parts_; }
  std::uint64_t total() const;
  /// "classifiers 0.8 GB, rows 0.1 GB", largest first; parts below a hundredth are left out.
  std::string to_text() const;

 private:
  std::vector<Part> parts_;
};

/// The estimate with the larger total, for two phases of which the first frees its memory before
/// the second starts.
MemoryEstimate larger_of(MemoryEstimate first, MemoryEstimate second);

}  // namespace margrove
