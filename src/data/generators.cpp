#include "data/generators.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"

namespace margrove {
namespace {
/// The seed has a stream for the weights and one for each row.
constexpr std::uint64_t kWeightStream = 0;
constexpr std::uint64_t kFirstRowStream = 1;

std::vector<float> normal_vector(std::size_t size, Random& random) {
  std::vector<float> v(size);
  for (float& x : v) x = static_cast<float>(random.normal());
  return v;
}

std::vector<std::vector<float>> normal_vectors(std::size_t count, std::size_t size,
                                               std::uint64_t seed) {
  Random random(seed, kWeightStream);
  std::vector<std::vector<float>> vectors;
  for (std::size_t k = 0; k < count; ++k) vectors.push_back(normal_vector(size, random));
  return vectors;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += static_cast<double>(a[j]) * b[j];
  return sum;
}

void scale_to_unit_norm(std::vector<float>& x) {
  const double norm = std::sqrt(dot(x, x));
  for (float& v : x) v = static_cast<float>(v / norm);
}

/// Appends rows; make_label(x) may change the row before it names the label.
template <class MakeLabel>
void append_rows(const GeneratorOptions& options, Dataset& data, const MakeLabel& make_label) {
  const auto d = static_cast<std::size_t>(options.num_features);
  std::vector<FeatureId> columns(d);
  for (std::size_t j = 0; j < d; ++j) columns[j] = static_cast<FeatureId>(j);
  for (std::int64_t i = 0; i < options.num_rows; ++i) {
    Random random(options.seed,
                  kFirstRowStream + static_cast<std::uint64_t>(options.first_row + i));
    std::vector<float> x = normal_vector(d, random);
    const LabelId label = make_label(x);
    data.X.append_row(columns, x);
    data.labels.append(std::span(&label, 1));
  }
}

void add_edge(Hierarchy& hierarchy, std::string_view parent, std::string_view child) {
  const LabelId p = hierarchy.codec.add(parent);
  const LabelId c = hierarchy.codec.add(child);
  hierarchy.edges.push_back({p, c});
}
}  // namespace

GeneratedData generate_balanced(const GeneratorOptions& options) {
  validate(options);
  const int depth = options.depth > 0 ? options.depth : 3;
  const std::size_t num_leaves = std::size_t{1} << static_cast<unsigned>(depth);
  const auto W = normal_vectors(2 * num_leaves, static_cast<std::size_t>(options.num_features),
                                options.seed);  // W[0] is not a node
  GeneratedData generated;
  generated.hierarchy.source = "balanced";
  for (std::size_t node = 2; node < 2 * num_leaves; ++node) {
    add_edge(generated.hierarchy, concat(node / 2), concat(node));
  }
  for (std::size_t leaf = num_leaves; leaf < 2 * num_leaves; ++leaf) {
    generated.data.codec.add(concat(leaf));
  }
  std::vector<double> score(2 * num_leaves);  // of the path down to each node
  append_rows(options, generated.data, [&](const std::vector<float>& x) {
    for (std::size_t node = 1; node < score.size(); ++node) {
      score[node] = score[node / 2] + dot(W[node], x);
    }
    const auto best =
        std::max_element(score.begin() + static_cast<std::ptrdiff_t>(num_leaves), score.end());
    return static_cast<LabelId>(static_cast<std::size_t>(best - score.begin()) - num_leaves);
  });
  return generated;
}

GeneratedData generate_unbalanced(const GeneratorOptions& options) {
  validate(options);
  const auto depth = static_cast<std::size_t>(options.depth > 0 ? options.depth : 10);
  const auto W =
      normal_vectors(depth, static_cast<std::size_t>(options.num_features), options.seed);
  GeneratedData generated;
  generated.hierarchy.source = "unbalanced";
  for (std::size_t k = 0; k < depth; ++k) {
    const std::string split = concat("split", k);
    add_edge(generated.hierarchy, split, concat("leaf", k));
    const bool is_last = k + 1 == depth;
    add_edge(generated.hierarchy, split, concat(is_last ? "leaf" : "split", k + 1));
  }
  for (std::size_t leaf = 0; leaf <= depth; ++leaf) generated.data.codec.add(concat("leaf", leaf));
  append_rows(options, generated.data, [&](std::vector<float>& x) {
    scale_to_unit_norm(x);
    std::size_t k = 0;
    while (k < depth && dot(W[k], x) <= 0) ++k;
    return static_cast<LabelId>(k);
  });
  return generated;
}

}  // namespace margrove
