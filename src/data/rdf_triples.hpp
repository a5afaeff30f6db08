#pragma once
// Triples of RDF, as readers of its syntaxes give them.

#include <string_view>

namespace margrove::detail {

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
