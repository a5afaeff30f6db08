#pragma once
// The tensors of the parts that several kinds of models share. All load_ functions throw
// ModelFileError or InvalidInput on anything that is not valid.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tensors.hpp"
#include "data/record_features.hpp"
#include "data/views.hpp"
#include "data/weight_matrix.hpp"
#include "kernel/kernel_features.hpp"
#include "margrove/label_codec.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

/// "labels", "labels.are_numbers" where they are, and "labels.alternatives" with
/// "labels.alternative_of" where labels have some.
void save_labels(TensorMap& out, const LabelCodec& labels);
LabelCodec load_labels(const TensorMap& tensors);

/// "<name>.dense", or "<name>.row_pointers", "<name>.columns" and "<name>.values".
void save_weights(TensorMap& out, const std::string& name, const WeightMatrix& weights);
WeightMatrix load_weights(const TensorMap& tensors, const std::string& name,
                          std::uint64_t num_nodes);

/// "<name>.edges": one row per edge, parent and child.
void save_graph(TensorMap& out, const std::string& name, const LabelGraph& graph);
LabelGraph load_graph(const TensorMap& tensors, const std::string& name, std::uint64_t num_nodes);

template <>
inline constexpr auto kEnumNames<Preprocessing::Kind> =
    std::array{EnumName{Preprocessing::Kind::none, "none"},
               EnumName{Preprocessing::Kind::text_tfidf, "text-tfidf"},
               EnumName{Preprocessing::Kind::count_tfidf, "count-tfidf"},
               EnumName{Preprocessing::Kind::normalize, "normalize"},
               EnumName{Preprocessing::Kind::scale, "scale"}};
/// "preprocessing.kind", "preprocessing.columns" where only some are kept; for the tf-idf kinds
/// "preprocessing.sublinear_tf", ".idf", ".vocabulary" and other terms or weights than tf-idf of
/// single words; for kind scale "preprocessing.scale", ".centre" and ".spread".
void save_preprocessing(TensorMap& out, const Preprocessing& preprocessing);
Preprocessing load_preprocessing(const TensorMap& tensors);

/// "records.": the selection as strings by role, and the fitted parameters. Loads nothing if
/// nothing was saved.
void save_records(TensorMap& out, const RecordFeatures& records);
std::optional<RecordFeatures> load_records(const TensorMap& tensors);

/// "kernel_features.kind" and ".gamma", or "kernel_features.kernel" of a learned kernel
/// (save_kernel()); of landmarks the rows (save_support()) and ".inverse_factor", otherwise
/// ".seed",
/// ".size" and ".num_features". Loads nothing if nothing was saved.
void save_kernel_features(TensorMap& out, const KernelFeatures& features);
std::optional<KernelFeatures> load_kernel_features(const TensorMap& tensors);

/// "views" and "views.ends"; nothing for no views.
void save_views(TensorMap& out, std::span<const View> views);
std::vector<View> load_views(const TensorMap& tensors);

/// The edges of a graph, by child.
std::vector<LabelEdge> edges_of(const LabelGraph& graph);

}  // namespace margrove
