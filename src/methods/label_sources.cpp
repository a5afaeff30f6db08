#include "methods/label_sources.hpp"

#include <optional>
#include <set>
#include <vector>

#include "data/text_scan.hpp"

namespace margrove {
namespace {

/// Why a name is no node, as the middle of a sentence; empty if nothing is known.
std::string reason_of(const std::string& name, const FormerTerms& former) {
  if (const auto found = former.obsolete.find(name); found != former.obsolete.end()) {
    if (found->second.empty()) return ", which is obsolete";
    return concat(", which is obsolete and replaced by ", detail::quoted(found->second));
  }
  if (former.ambiguous.contains(name)) return ", an alternative id of several terms";
  return {};
}

}  // namespace

LeftOutLabels annotate(Examples& raw, const Annotations& annotations) {
  LabelSets labels;
  LeftOutLabels left_out;
  std::vector<LabelId> terms;
  std::vector<std::optional<LabelId>> object_of(raw.codec.size());
  for (LabelId id = 0; id < raw.codec.size(); ++id) {
    object_of[id] = annotations.objects.find(raw.codec.name(id));
  }
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    terms.clear();
    for (const LabelId id : raw.labels[i]) {
      if (!object_of[id]) continue;
      const auto found = annotations.terms_of[*object_of[id]];
      terms.insert(terms.end(), found.begin(), found.end());
    }
    if (terms.empty()) {
      ++left_out.num_rows;
      if (left_out.example.empty() && !raw.labels[i].empty()) {
        left_out.example = raw.codec.name(raw.labels[i].front());
      }
    }
    labels.append(terms);
  }
  require(left_out.num_rows < raw.num_rows(), raw.source, ": no row has an id with annotations in ",
          annotations.source, "; the id of one is ", detail::quoted(left_out.example));
  raw.labels = std::move(labels);
  raw.codec = annotations.terms;
  return left_out;
}

void use_terms(Examples& raw, const LabelCodec& terms) {
  LabelCodec codec;
  std::vector<LabelId> term_of(raw.codec.size());
  for (LabelId id = 0; id < raw.codec.size(); ++id) {
    const std::string& name = raw.codec.name(id);
    const auto term = terms.find(name);
    term_of[id] = codec.add(term ? terms.name(*term) : name);
  }
  LabelSets labels;
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    set.clear();
    for (const LabelId id : raw.labels[i]) set.push_back(term_of[id]);
    labels.append(set);
  }
  raw.labels = std::move(labels);
  raw.codec = std::move(codec);
}

LeftOutLabels use_nodes(Examples& raw, const Hierarchy& hierarchy, const FormerTerms& former,
                        bool drops_unknown) {
  std::vector<std::optional<LabelId>> node_of(raw.codec.size());
  for (LabelId id = 0; id < raw.codec.size(); ++id) {
    node_of[id] = hierarchy.codec.find(raw.codec.name(id));
  }
  LabelSets labels;
  LeftOutLabels left_out;
  std::set<LabelId> unknown;
  std::vector<LabelId> nodes;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    nodes.clear();
    bool is_complete = true;
    for (const LabelId id : raw.labels[i]) {
      const std::string& name = raw.codec.name(id);
      require(node_of[id].has_value() || drops_unknown, raw.source, ": row ", i + 1, ": label is ",
              detail::quoted(name), reason_of(name, former),
              ", but must be a node of the hierarchy ", hierarchy.source);
      if (node_of[id]) {
        nodes.push_back(*node_of[id]);
      } else {
        is_complete = false;
        unknown.insert(id);
      }
    }
    left_out.num_rows += is_complete ? 0 : 1;
    labels.append(nodes);
  }
  left_out.num_labels = unknown.size();
  if (!unknown.empty()) left_out.example = raw.codec.name(*unknown.begin());
  raw.labels = std::move(labels);
  raw.codec = hierarchy.codec;
  return left_out;
}

}  // namespace margrove
