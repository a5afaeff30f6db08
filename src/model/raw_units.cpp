#include "model/raw_units.hpp"

#include <cmath>

namespace margrove {
namespace {

/// The value before scaling; zero up to rounding becomes zero.
float raw_value(double scaled, double centre, double spread) {
  const double value = scaled * spread + centre;
  return std::abs(value) < 1e-6 * (std::abs(centre) + spread) ? 0.0F : static_cast<float>(value);
}

template <class Visit>
void for_nonzeros(WeightPass& pass, FeatureId j, const Visit& visit) {
  pass.for_each_of(j, [&](NodeId n, float w) {
    if (w != 0) visit(n, static_cast<double>(w));
  });
}

void name_columns_as_given(Explanation& explanation, std::span<const FeatureId> columns) {
  for (Explanation::Node& node : explanation.nodes) {
    for (Explanation::Contribution& part : node.strongest) {  // the last one is the intercept
      part.feature =
          part.feature < columns.size() ? columns[part.feature] : columns.back() + FeatureId{1};
    }
  }
}

/// Rows of weights for the columns between those that were selected.
WeightMatrix with_columns_left_out(const WeightMatrix& W, std::span<const FeatureId> columns) {
  CsrMatrix rows(W.num_nodes());
  WeightPass pass(W);
  std::vector<NodeId> nodes;
  std::vector<float> values;
  std::size_t given = 0;  // rows so far
  for (FeatureId j = 0; j < W.num_features(); ++j, ++given) {
    for (; j < columns.size() && given < columns[j]; ++given) rows.append_row({}, {});
    nodes.clear();
    values.clear();
    for_nonzeros(pass, j, [&](NodeId n, double w) {
      nodes.push_back(n);
      values.push_back(static_cast<float>(w));
    });
    rows.append_row(nodes, values);
  }
  return WeightMatrix::sparse(std::move(rows)).compacted();
}

Explanation before_scaling(Explanation explanation, const Preprocessing& preprocessing) {
  if (preprocessing.kind != Preprocessing::Kind::scale) return explanation;
  const std::size_t num_columns = preprocessing.spread.size();
  for (Explanation::Node& node : explanation.nodes) {
    for (Explanation::Contribution& part : node.strongest) {
      if (part.feature >= num_columns) continue;  // the intercept
      const double centre = preprocessing.centre[part.feature];
      const double spread = preprocessing.spread[part.feature];
      part.value = raw_value(part.value, centre, spread);
      part.weight = static_cast<float>(part.weight / spread);
      part.centre = static_cast<float>(centre);
    }
  }
  return explanation;
}

LinearPredictor::Parts before_scaling(const LinearPredictor::Parts& parts,
                                      const Preprocessing& preprocessing) {
  if (preprocessing.kind != Preprocessing::Kind::scale) return parts;
  LinearPredictor::Parts raw = parts;
  const WeightMatrix& W = parts.weights;
  const FeatureId num_features = W.num_features() - (parts.bias > 0 ? 1 : 0);
  raw.bias = parts.bias > 0 ? parts.bias : 1.0;
  std::vector<double> intercept(W.num_nodes(), 0.0);
  WeightPass pass(W);
  if (parts.bias > 0) {
    for_nonzeros(pass, num_features, [&](NodeId n, double w) { intercept[n] = w; });
  }
  CsrMatrix rows(W.num_nodes());
  std::vector<NodeId> nodes;
  std::vector<float> values;
  const auto append_row = [&] {
    rows.append_row(nodes, values);
    nodes.clear();
    values.clear();
  };
  for (FeatureId j = 0; j < num_features; ++j) {
    const double spread = preprocessing.spread[j];
    if (spread > 0) {  // otherwise left out
      for_nonzeros(pass, j, [&](NodeId n, double w) {
        nodes.push_back(n);
        values.push_back(static_cast<float>(w / spread));
        intercept[n] -= w / spread * preprocessing.centre[j] / raw.bias;
      });
    }
    append_row();
  }
  for (NodeId n = 0; n < W.num_nodes(); ++n) {
    nodes.push_back(n);
    values.push_back(static_cast<float>(intercept[n]));
  }
  append_row();
  raw.weights = WeightMatrix::sparse(std::move(rows)).compacted();
  return raw;
}

}  // namespace

Explanation in_raw_units(Explanation explanation, const Preprocessing& preprocessing) {
  Explanation raw = before_scaling(std::move(explanation), preprocessing);
  if (!preprocessing.columns.empty()) name_columns_as_given(raw, preprocessing.columns);
  return raw;
}

LinearPredictor::Parts in_raw_units(const LinearPredictor::Parts& parts,
                                    const Preprocessing& preprocessing) {
  LinearPredictor::Parts raw = before_scaling(parts, preprocessing);
  if (!preprocessing.columns.empty()) {
    raw.weights = with_columns_left_out(raw.weights, preprocessing.columns);
  }
  return raw;
}

}  // namespace margrove
