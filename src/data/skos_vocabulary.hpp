#pragma once
// A SKOS vocabulary from its triples, whatever syntax they were read from.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/rdf_triples.hpp"
#include "margrove/dataset.hpp"

namespace margrove::detail {

/// Collects the concepts: see read_skos().
class SkosVocabulary : public TripleSink {
 public:
  /// `source` is the name of the file; `language` may be empty.
  SkosVocabulary(std::string source, std::string language, bool other_names);

  void add(std::string_view subject, std::string_view predicate, std::string_view object) override;
  void add(std::string_view subject, std::string_view predicate, const RdfLiteral& object) override;

  /// After all triples, once. Throws what read_skos() throws of a vocabulary.
  Hierarchy finish();

 private:
  static constexpr LabelId kNone = ~LabelId{0};
  static constexpr int kNoName = 100;
  struct Concept {
    bool is_declared = false, is_deprecated = false;
    bool has_ancestor = false;  // by a transitive relation
    bool is_end = false;        // of an edge
    bool is_placed = false;     // below another one
    int name_rank = kNoName;    // of the language of `name`; the smallest one is taken
    std::string name;
    int other_rank = kNoName;  // the same of `other_names`
    std::string other_names, other_tag;
  };

  template <class... Parts>
  void warn(const Parts&... parts);
  void warn_of_undeclared(std::size_t num_declared);
  void warn_of_flatness(const std::vector<LabelId>& node_of);
  int rank_of(std::string_view tag) const;
  void add_other_name(std::string_view subject, const RdfLiteral& name);
  LabelId id_of(std::string_view uri);
  Concept& concept_of(std::string_view uri) { return concepts_[id_of(uri)]; }

  std::string language_;
  bool keeps_other_names_;
  LabelCodec uris_;  // of all subjects with one of the predicates above
  std::vector<Concept> concepts_;
  std::vector<std::pair<LabelId, LabelId>> edges_;  // parent and child
  Hierarchy hierarchy_;
};

}  // namespace margrove::detail
