#include "model/tensor_parts.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include "model/process_encoder.hpp"
#include "model/saved_kernel.hpp"
#include "model/saved_rows.hpp"

namespace margrove {
namespace {

std::uint32_t checked_extent(const TensorMap& tensors, const std::string& name,
                             std::uint64_t extent) {
  tensors.check(extent <= std::numeric_limits<std::uint32_t>::max(), "tensor ", name, " has ",
                extent, " rows or columns, but may have at most 2^32 - 1");
  return static_cast<std::uint32_t>(extent);
}

void check_finite(const TensorMap& tensors, const std::string& name,
                  const std::vector<float>& values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    tensors.check(std::isfinite(values[k]), "tensor ", name, ": value ", k,
                  " must be a finite number");
  }
}

}  // namespace

void save_labels(TensorMap& out, const LabelCodec& labels) {
  out.put_strings("labels", labels.names());
  if (labels.are_numbers()) out.put_text("labels.are_numbers", "1");
  if (labels.alternatives().empty()) return;
  std::vector<std::string> others;
  std::vector<LabelId> label_of;
  for (const auto& [other, label] : labels.alternatives()) {
    others.push_back(other);
    label_of.push_back(label);
  }
  out.put_strings("labels.alternatives", others);
  out.put<LabelId>("labels.alternative_of", label_of);
}

LabelCodec load_labels(const TensorMap& tensors) {
  LabelCodec labels(tensors.get_strings("labels"));
  if (tensors.has_text("labels.are_numbers")) labels.set_are_numbers();
  if (!tensors.has("labels.alternatives.bytes")) return labels;
  const auto others = tensors.get_strings("labels.alternatives");
  const auto label_of = tensors.get<LabelId>("labels.alternative_of", others.size());
  for (std::size_t k = 0; k < others.size(); ++k) labels.add_alternative(others[k], label_of[k]);
  return labels;
}

void save_weights(TensorMap& out, const std::string& name, const WeightMatrix& weights) {
  if (weights.is_dense()) {
    out.put_view<float>(name + ".dense", weights.dense_values(),
                        {weights.num_features(), weights.num_nodes()});
    return;
  }
  const CsrView by_feature = weights.sparse_values();
  out.put_view<std::int64_t>(name + ".row_pointers", by_feature.row_pointers());
  out.put_view<FeatureId>(name + ".columns", by_feature.columns());
  out.put_view<float>(name + ".values", by_feature.values());
}

namespace {

void check_row_pointers(const TensorMap& tensors, const std::string& name,
                        std::span<const std::int64_t> pointers, std::uint64_t num_values) {
  tensors.check(!pointers.empty() && pointers.front() == 0, "tensor ", name, " must start with 0");
  tensors.check(std::ranges::is_sorted(pointers), "tensor ", name, " must not decrease");
  tensors.check(static_cast<std::uint64_t>(pointers.back()) == num_values, "tensor ", name,
                " ends with ", pointers.back(), ", but there are ", num_values, " weights");
}

std::shared_ptr<const StoredWeights> stored_weights(const TensorMap& tensors,
                                                    const std::string& name,
                                                    std::uint32_t num_nodes) {
  StoredWeights::Place place{.store = tensors.shared_store(),
                             .tensor = concat(tensors.source(), ": tensor ", name)};
  if (const std::string dense = name + ".dense"; tensors.has(dense)) {
    place.values = tensors.stored_offset<float>(dense, {TensorMap::kAnySize, num_nodes});
    const auto features = checked_extent(tensors, dense, tensors.shape(dense).front());
    return std::make_shared<StoredWeights>(std::move(place), features, num_nodes);
  }
  const std::string pointers = name + ".row_pointers", columns = name + ".columns";
  auto row_pointers = tensors.get<std::int64_t>(pointers);
  place.nodes = tensors.stored_offset<FeatureId>(columns, {TensorMap::kAnySize});
  const std::uint64_t num_values = tensors.shape(columns).front();
  place.values = tensors.stored_offset<float>(name + ".values", {num_values});
  check_row_pointers(tensors, pointers, row_pointers, num_values);
  checked_extent(tensors, name, row_pointers.size() - 1);
  return std::make_shared<StoredWeights>(std::move(place), std::move(row_pointers), num_nodes);
}

}  // namespace

WeightMatrix load_weights(const TensorMap& tensors, const std::string& name,
                          std::uint64_t num_nodes) {
  const std::uint32_t nodes = checked_extent(tensors, name, num_nodes);
  if (tensors.shared_store() != nullptr) {
    auto stored = stored_weights(tensors, name, nodes);
    if (tensors.checks_stored_values()) StoredWeights::check(stored);
    return WeightMatrix::stored(std::move(stored));
  }
  if (const std::string dense = name + ".dense"; tensors.has(dense)) {
    auto values = tensors.get_matrix<float>(dense, TensorMap::kAnySize, num_nodes);
    check_finite(tensors, dense, values);
    const auto features = checked_extent(tensors, dense, tensors.shape(dense).front());
    return WeightMatrix::dense(features, nodes, std::move(values));
  }
  auto row_pointers = tensors.get<std::int64_t>(name + ".row_pointers");
  auto columns = tensors.get<FeatureId>(name + ".columns");
  auto values = tensors.get<float>(name + ".values", columns.size());
  tensors.check(!row_pointers.empty(), "tensor ", name, ".row_pointers must not be empty");
  checked_extent(tensors, name, row_pointers.size() - 1);
  return WeightMatrix::sparse(
      CsrMatrix(nodes, std::move(row_pointers), std::move(columns), std::move(values)));
}

std::vector<LabelEdge> edges_of(const LabelGraph& graph) {
  std::vector<LabelEdge> edges;
  edges.reserve(graph.num_edges());
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    for (const NodeId parent : graph.parents(n)) edges.push_back({parent, n});
  }
  return edges;
}

void save_graph(TensorMap& out, const std::string& name, const LabelGraph& graph) {
  std::vector<NodeId> pairs;
  pairs.reserve(2 * graph.num_edges());
  for (const auto& [parent, child] : edges_of(graph)) {
    pairs.push_back(parent);
    pairs.push_back(child);
  }
  out.put<NodeId>(name + ".edges", pairs, {graph.num_edges(), 2});
}

LabelGraph load_graph(const TensorMap& tensors, const std::string& name, std::uint64_t num_nodes) {
  const auto pairs = tensors.get_matrix<NodeId>(name + ".edges", TensorMap::kAnySize, 2);
  std::vector<LabelEdge> edges;
  edges.reserve(pairs.size() / 2);
  for (std::size_t k = 0; k < pairs.size(); k += 2) edges.push_back({pairs[k], pairs[k + 1]});
  return LabelGraph::build(checked_extent(tensors, name, num_nodes), edges);
}

namespace {

/// Of a tf-idf kind. Only terms and weights that differ from tf-idf of single words are named.
void save_terms(TensorMap& out, const std::string& name, const Preprocessing& fitted) {
  const TextTerms defaults;
  const TextTerms& terms = fitted.terms;
  const bool has_texts = fitted.kind == Preprocessing::Kind::text_tfidf;
  if (has_texts && terms.word_rule != TextTerms::WordRule::letters) {
    out.put_enum(name + ".word_rule", terms.word_rule);
  }
  if (terms.normal_form != defaults.normal_form) {
    out.put_enum(name + ".normal_form", terms.normal_form);
  }
  if (terms.casing != defaults.casing) out.put_enum(name + ".casing", terms.casing);
  out.put_truth(name + ".sublinear_tf", fitted.sublinear_tf);
  out.put_view<float>(name + ".idf", fitted.idf);
  if (fitted.terms.num_hashes > 0) {
    out.put_view<std::uint32_t>(name + ".hashes", fitted.hashes);
    out.put_text(name + ".num_hashes", concat(fitted.terms.num_hashes));
    out.put_text(name + ".hash_seed", concat(fitted.terms.hash_seed));
  } else if (fitted.kind == Preprocessing::Kind::text_tfidf) {
    out.put_strings(name + ".vocabulary", fitted.vocabulary);
  }
  if (fitted.vectors.width() > 0) {
    const auto& [encoder, share, _] = fitted.vectors;
    out.put_text(name + ".encoder", encoder.name);
    out.put_text(name + ".encoder_digest", encoder.digest);
    out.put_text(name + ".vector_width", concat(encoder.width));
    out.put_number(name + ".vector_share", share);
  }
  if (!fitted.has_own_terms()) return;
  out.put_text(name + ".word_ngrams", fitted.terms.words.to_text());
  out.put_text(name + ".char_ngrams", fitted.terms.characters.to_text());
  out.put_strings(name + ".stop_words", fitted.terms.stop_words);
  if (!fitted.terms.stem.is_none()) out.put_text(name + ".stem", fitted.terms.stem.language);
  out.put_enum(name + ".term_weights", fitted.term_weights);
  out.put_number(name + ".bm25_k1", fitted.bm25_k1);
  out.put_number(name + ".bm25_b", fitted.bm25_b);
  out.put_number(name + ".average_length", fitted.average_length);
}

TextTerms::Lengths load_lengths(const TensorMap& tensors, const std::string& name) {
  try {
    return TextTerms::Lengths::parse(tensors.text(name));
  } catch (const InvalidOption& error) {
    tensors.fail(concat("metadata ", name, ": ", error.what()));
  }
}

/// The terms of the columns, or their hashes.
void load_columns(const TensorMap& tensors, const std::string& name, Preprocessing& fitted) {
  constexpr std::uint64_t kMaxHashes = std::uint64_t{1} << 30U;
  if (!tensors.has_text(name + ".num_hashes")) {
    fitted.vocabulary = tensors.get_strings(name + ".vocabulary");
    return;
  }
  fitted.hashes = tensors.get<std::uint32_t>(name + ".hashes");
  fitted.terms.num_hashes =
      static_cast<std::uint32_t>(tensors.whole_number(name + ".num_hashes", kMaxHashes));
  fitted.terms.hash_seed = tensors.whole_number(name + ".hash_seed");
}

void load_vectors(const TensorMap& tensors, const std::string& name,
                  Preprocessing::Vectors& vectors) {
  constexpr std::uint64_t kWidest = 1U << 20U;
  TextEncoder::Facts& facts = vectors.facts;
  facts.name = tensors.text(name + ".encoder");
  facts.digest = tensors.text(name + ".encoder_digest");
  facts.width = static_cast<std::uint32_t>(tensors.whole_number(name + ".vector_width", kWidest));
  vectors.share = tensors.number(name + ".vector_share");
  name_encoder(vectors);
}

void load_terms(const TensorMap& tensors, const std::string& name, Preprocessing& fitted) {
  fitted.sublinear_tf = tensors.truth(name + ".sublinear_tf");
  fitted.idf = tensors.get<float>(name + ".idf");
  fitted.terms.word_rule = TextTerms::WordRule::letters;  // of earlier versions
  if (fitted.kind == Preprocessing::Kind::text_tfidf) load_columns(tensors, name, fitted);
  if (tensors.has_text(name + ".word_rule")) {
    fitted.terms.word_rule = tensors.get_enum<TextTerms::WordRule>(name + ".word_rule");
  }
  if (tensors.has_text(name + ".normal_form")) {
    fitted.terms.normal_form = tensors.get_enum<TextTerms::NormalForm>(name + ".normal_form");
  }
  if (tensors.has_text(name + ".casing")) {
    fitted.terms.casing = tensors.get_enum<TextTerms::Casing>(name + ".casing");
  }
  if (tensors.has_text(name + ".encoder")) load_vectors(tensors, name, fitted.vectors);
  if (!tensors.has_text(name + ".word_ngrams")) return;
  fitted.terms.words = load_lengths(tensors, name + ".word_ngrams");
  fitted.terms.characters = load_lengths(tensors, name + ".char_ngrams");
  fitted.terms.stop_words = tensors.get_strings(name + ".stop_words");
  if (tensors.has_text(name + ".stem")) fitted.terms.stem.language = tensors.text(name + ".stem");
  fitted.term_weights = tensors.get_enum<TextTerms::Weights>(name + ".term_weights");
  fitted.bm25_k1 = tensors.number(name + ".bm25_k1");
  fitted.bm25_b = tensors.number(name + ".bm25_b");
  fitted.average_length = tensors.number(name + ".average_length");
}

}  // namespace

void save_preprocessing(TensorMap& out, const Preprocessing& preprocessing) {
  const Preprocessing::Kind kind = preprocessing.kind;
  out.put_enum("preprocessing.kind", kind);
  if (preprocessing.first_index == 0) out.put_text("preprocessing.first_index", "0");
  if (!preprocessing.columns.empty()) {
    out.put_view<FeatureId>("preprocessing.columns", preprocessing.columns);
  }
  if (kind == Preprocessing::Kind::none || kind == Preprocessing::Kind::normalize) return;
  if (kind == Preprocessing::Kind::scale) {
    out.put_enum("preprocessing.scale", preprocessing.column_scale);
    out.put_view<double>("preprocessing.centre", preprocessing.centre);
    out.put_view<double>("preprocessing.spread", preprocessing.spread);
    return;
  }
  save_terms(out, "preprocessing", preprocessing);
}

Preprocessing load_preprocessing(const TensorMap& tensors) {
  Preprocessing preprocessing;
  preprocessing.kind = tensors.get_enum<Preprocessing::Kind>("preprocessing.kind");
  if (tensors.has_text("preprocessing.first_index")) {
    preprocessing.first_index =
        static_cast<std::uint32_t>(tensors.whole_number("preprocessing.first_index", 1));
  }
  if (tensors.has("preprocessing.columns")) {
    preprocessing.columns = tensors.get<FeatureId>("preprocessing.columns");
  }
  if (tensors.has_text("preprocessing.sublinear_tf")) {
    load_terms(tensors, "preprocessing", preprocessing);
  }
  if (preprocessing.kind == Preprocessing::Kind::scale) {
    preprocessing.column_scale = tensors.get_enum<ColumnScale>("preprocessing.scale");
    preprocessing.centre = tensors.get<double>("preprocessing.centre");
    preprocessing.spread = tensors.get<double>("preprocessing.spread");
  }
  preprocessing.check();
  return preprocessing;
}

void save_records(TensorMap& out, const RecordFeatures& records) {
  const RecordSelection& selection = records.selection;
  out.put_strings("records.text", selection.text);
  out.put_strings("records.numeric", selection.numeric);
  out.put_strings("records.categorical", selection.categorical);
  out.put_strings("records.path_levels", selection.path_levels);
  out.put_text("records.label", selection.label);
  out.put_text("records.label_separator", selection.label_separator);
  out.put_text("records.path", selection.path);
  out.put_text("records.separator", selection.separator);
  if (selection.of_texts) out.put_truth("records.of_texts", true);
  if (!selection.text.empty()) save_terms(out, "records", records.text);
  std::vector<float> means;
  std::vector<std::uint8_t> may_be_missing;
  for (const RecordFeatures::Numeric& each : records.numeric) {
    means.push_back(each.mean);
    may_be_missing.push_back(each.may_be_missing ? 1 : 0);
  }
  out.put<float>("records.means", means);
  out.put<std::uint8_t>("records.may_be_missing", may_be_missing);
  for (std::size_t f = 0; f < records.categorical.size(); ++f) {
    out.put_strings(concat("records.values.", f), records.categorical[f]);
  }
  if (selection.vectors.empty()) return;
  out.put_strings("records.vectors", selection.vectors);
  out.put_view<std::uint32_t>("records.vectors.widths", records.vector_widths);
  out.put_number("records.vectors.share", records.vector_share);
}

std::optional<RecordFeatures> load_records(const TensorMap& tensors) {
  if (!tensors.has_text("records.label")) return std::nullopt;
  RecordFeatures records;
  RecordSelection& selection = records.selection;
  selection.text = tensors.get_strings("records.text");
  selection.numeric = tensors.get_strings("records.numeric");
  selection.categorical = tensors.get_strings("records.categorical");
  selection.path_levels = tensors.get_strings("records.path_levels");
  selection.label = tensors.text("records.label");
  selection.label_separator = tensors.text("records.label_separator");
  selection.path = tensors.text("records.path");
  selection.separator = tensors.text("records.separator");
  selection.of_texts = tensors.has_text("records.of_texts") && tensors.truth("records.of_texts");
  if (!selection.text.empty()) {
    records.text.kind = Preprocessing::Kind::text_tfidf;
    load_terms(tensors, "records", records.text);
  }
  const auto means = tensors.get<float>("records.means", selection.numeric.size());
  const auto may_be_missing =
      tensors.get<std::uint8_t>("records.may_be_missing", selection.numeric.size());
  for (std::size_t f = 0; f < means.size(); ++f) {
    records.numeric.push_back({means[f], may_be_missing[f] != 0});
  }
  for (std::size_t f = 0; f < selection.categorical.size(); ++f) {
    records.categorical.push_back(tensors.get_strings(concat("records.values.", f)));
  }
  if (tensors.has("records.vectors.widths")) {
    selection.vectors = tensors.get_strings("records.vectors");
    records.vector_widths = tensors.get<std::uint32_t>("records.vectors.widths");
    records.vector_share = tensors.number("records.vectors.share");
  }
  records.check();
  return records;
}

namespace {

const std::string kLearnedKernel = "kernel_features.kernel";

}  // namespace

void save_kernel_features(TensorMap& out, const KernelFeatures& features) {
  out.put_enum("kernel_features.kind", features.kind);
  if (features.learned) {
    const LearnedKernel& learned = *features.learned;
    save_kernel(out, kLearnedKernel, learned, learned.network, learned.beta);
  } else {
    out.put_number("kernel_features.gamma", features.gamma);
  }
  if (features.kind == KernelFeatures::Kind::nystroem) {
    save_support(out, "kernel_features", features.landmarks);
    out.put_view<float>("kernel_features.inverse_factor", features.inverse_factor);
    return;
  }
  out.put_text("kernel_features.num_features", concat(features.num_columns()));
  out.put_text("kernel_features.seed", concat(features.seed));
  out.put_text("kernel_features.size", concat(features.num_fourier));
}

std::optional<KernelFeatures> load_kernel_features(const TensorMap& tensors) {
  if (!tensors.has_text("kernel_features.kind")) return std::nullopt;
  KernelFeatures features;
  features.kind = tensors.get_enum<KernelFeatures::Kind>("kernel_features.kind");
  const bool is_learned = tensors.has_text(kLearnedKernel + ".network");
  features.gamma = is_learned ? 0 : tensors.number("kernel_features.gamma");
  tensors.check(!is_learned || features.kind == KernelFeatures::Kind::nystroem,
                "metadata kernel_features.kind must be nystroem with a learned kernel");
  if (features.kind == KernelFeatures::Kind::nystroem) {
    features.landmarks = load_support(tensors, "kernel_features");
    features.inverse_factor = tensors.get<float>("kernel_features.inverse_factor");
    if (is_learned) {
      features.learned = load_kernel(tensors, kLearnedKernel, features.num_columns());
    }
  } else {
    features.landmarks.set_num_columns(static_cast<std::uint32_t>(tensors.whole_number(
        "kernel_features.num_features", std::numeric_limits<std::uint32_t>::max() - 1)));
    features.seed = tensors.whole_number("kernel_features.seed");
    features.num_fourier = static_cast<std::uint32_t>(
        tensors.whole_number("kernel_features.size", KernelFeatures::kMost));
  }
  features.check();
  return features;
}

void save_views(TensorMap& out, std::span<const View> views) {
  if (views.empty()) return;
  std::vector<std::string> names;
  std::vector<FeatureId> ends;
  for (const View& view : views) {
    names.push_back(view.name);
    ends.push_back(view.end);
  }
  out.put_strings("views", names);
  out.put<FeatureId>("views.ends", ends);
}

std::vector<View> load_views(const TensorMap& tensors) {
  std::vector<View> views;
  if (!tensors.has("views.ends")) return views;
  const auto names = tensors.get_strings("views");
  const auto ends = tensors.get<FeatureId>("views.ends", names.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    views.push_back({names[k], k == 0 ? 0 : ends[k - 1], ends[k]});
  }
  check_views(views);
  return views;
}

}  // namespace margrove
