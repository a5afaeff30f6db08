#include "data/skos_vocabulary.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "data/hierarchy_edges.hpp"
#include "data/text_scan.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {
namespace {

constexpr std::string_view kSkos = "http://www.w3.org/2004/02/skos/core#";
constexpr std::string_view kType = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
constexpr std::string_view kDeprecated = "http://www.w3.org/2002/07/owl#deprecated";

bool is_skos(std::string_view uri, std::string_view name) {
  return uri.starts_with(kSkos) && uri.substr(kSkos.size()) == name;
}

/// Whether a language tag such as "en-GB" is of a language such as "en" or "en-gb".
bool is_of_language(std::string_view tag, std::string_view language) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (tag.size() < language.size()) return false;
  if (tag.size() > language.size() && tag[language.size()] != '-') return false;
  return std::equal(language.begin(), language.end(), tag.begin(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

}  // namespace

SkosVocabulary::SkosVocabulary(std::string source, std::string language)
    : language_(std::move(language)) {
  hierarchy_.source = std::move(source);
}

void SkosVocabulary::add(std::string_view subject, std::string_view predicate,
                         std::string_view object) {
  if (predicate == kType && is_skos(object, "Concept")) {
    concept_of(subject).is_declared = true;
  } else if (is_skos(predicate, "broader")) {
    edges_.emplace_back(id_of(object), id_of(subject));
  } else if (is_skos(predicate, "narrower")) {
    edges_.emplace_back(id_of(subject), id_of(object));
  }
}

void SkosVocabulary::add(std::string_view subject, std::string_view predicate,
                         const RdfLiteral& object) {
  if (predicate == kDeprecated) {
    if (object.text == "true" || object.text == "1") concept_of(subject).is_deprecated = true;
  } else if (is_skos(predicate, "prefLabel")) {
    const int rank = rank_of(object.language);
    Concept& named = concept_of(subject);
    if (rank >= named.name_rank) return;
    named.name_rank = rank;
    named.name = object.text;
  }
}

Hierarchy SkosVocabulary::finish() {
  std::vector<LabelId> node_of(concepts_.size(), kNone);
  for (const auto& [parent, child] : edges_)
    concepts_[parent].is_declared = concepts_[child].is_declared = true;
  bool any_name = false;
  for (LabelId id = 0; id < concepts_.size(); ++id) {
    Concept& each = concepts_[id];
    if (!each.is_declared || each.is_deprecated) continue;
    const std::string fault = name_fault(uris_.name(id));
    require(fault.empty(), hierarchy_.source, ": the URI of a concept ", fault);
    node_of[id] = hierarchy_.codec.add(uris_.name(id));
    any_name = any_name || each.name_rank < kNoName;
    hierarchy_.names.push_back(std::move(each.name));
  }
  require(hierarchy_.codec.size() > 0, hierarchy_.source,
          ": the file has no skos:Concept, but must have at least one");
  require<InvalidOption>(language_.empty() || any_name, "option language is ", language_,
                         ", but no concept of ", hierarchy_.source, " has a skos:prefLabel in it");
  std::set<std::pair<LabelId, LabelId>> known;  // both ends may state the same edge
  for (const auto& [parent, child] : edges_) {
    if (node_of[parent] == kNone || node_of[child] == kNone) continue;
    if (!known.emplace(parent, child).second) continue;
    hierarchy_.edges.push_back({node_of[parent], node_of[child]});
  }
  require_acyclic(hierarchy_);
  return std::move(hierarchy_);
}

int SkosVocabulary::rank_of(std::string_view tag) const {
  if (!language_.empty()) return is_of_language(tag, language_) ? 0 : kNoName;
  return tag.empty() ? 0 : is_of_language(tag, "en") ? 1 : 2;
}

LabelId SkosVocabulary::id_of(std::string_view uri) {
  const LabelId id = uris_.add(uri);
  if (id == concepts_.size()) concepts_.emplace_back();
  return id;
}

}  // namespace margrove::detail
