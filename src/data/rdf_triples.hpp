#pragma once
// Triples of RDF, as readers of its syntaxes give them.

#include <cstddef>
#include <string_view>

#include "data/text_scan.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {

/// Throws InvalidInput without a place for a namespace or base that is too long to be one, because
/// URIs of a few bytes stand for it and more.
inline void require_short(std::string_view what, std::size_t num_bytes) {
  require(num_bytes <= kMaxLabelBytes, what, " has ", num_bytes, " bytes, but must have at most ",
          kMaxLabelBytes);
}

struct RdfLiteral {
  std::string_view text, language;  // no language: empty
};

/// Takes the triples of a file whose subject is a URI. What is a blank node is left out.
class TripleSink {
 public:
  TripleSink() = default;
  TripleSink(const TripleSink&) = delete;
  TripleSink& operator=(const TripleSink&) = delete;
  virtual ~TripleSink() = default;
  virtual void add(std::string_view subject, std::string_view predicate,
                   std::string_view object) = 0;
  virtual void add(std::string_view subject, std::string_view predicate,
                   const RdfLiteral& object) = 0;
};

}  // namespace margrove::detail
