#pragma once
// Vectors of texts beside the terms from which tf-idf features are made.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/control.hpp"

namespace margrove MARGROVE_API {

/// Makes a vector of each text, as networks for sentences do. Option `vectors` names one that
/// `python3 -m margrove.vectors` runs; TfidfOptions::encoder takes any other. May be called from
/// several threads at once.
class TextEncoder {
 public:
  /// A model keeps them and takes vectors of this encoder only.
  struct Facts {
    std::string name;
    std::string digest;       // of all that its vectors depend on
    std::uint32_t width = 0;  // of a vector
    bool operator==(const Facts&) const = default;
  };

  TextEncoder() = default;
  TextEncoder(const TextEncoder&) = delete;
  TextEncoder& operator=(const TextEncoder&) = delete;
  virtual ~TextEncoder() = default;

  /// The same at each call. Throws InvalidInput if the encoder cannot be used. `control`, which
  /// may be null, ends the work.
  virtual Facts facts(RunControl* control) = 0;
  /// Finite numbers, texts.size() x width, row by row. A vector must depend on its text alone.
  virtual std::vector<float> encode(std::span<const std::string_view> texts,
                                    RunControl* control) = 0;
};

}  // namespace margrove
