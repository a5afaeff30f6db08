#include "io/label_pieces.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "margrove/errors.hpp"
#include "outputs/leaf_sets.hpp"

namespace margrove {
namespace {

std::vector<LabelFit> fit_piece(const LabelProblems& all, const Piece& piece, Executor& executor,
                                RunControl& control) {
  const LabelProblem& problem = all.problems[piece.problem];
  OneVsRestExtras extras;
  extras.free_intercept = all.free_intercept;
  extras.row_weights = all.row_weights;
  if (!problem.rows) {
    return train_label_blocks(all.X, problem.sets, problem.num_labels, all.solver, piece.blocks,
                              executor, control, extras);
  }
  const CsrMatrix X = select_rows(all.X, *problem.rows);
  const std::vector<double> weights = kept_weights(all.row_weights, *problem.rows);
  extras.row_weights = weights;
  return train_label_blocks(X, problem.sets, problem.num_labels, all.solver, piece.blocks, executor,
                            control, extras);
}

/// Pieces of smaller problems take one thread each.
bool uses_all_threads(const LabelProblems& all, std::size_t problem) {
  constexpr std::size_t kManyRows = 4096;
  return all.problems[problem].sets.num_rows() >= kManyRows;
}

}  // namespace

std::vector<Unit> units_of(const LabelProblems& all) {
  constexpr double kOwnPasses = 8;
  std::vector<Unit> units;
  const double row_size = static_cast<double>(all.X.num_nonzeros()) /
                          std::max(1.0, static_cast<double>(all.X.num_rows()));
  for (std::size_t p = 0; p < all.problems.size(); ++p) {
    const LabelProblem& problem = all.problems[p];
    std::vector<double> own(problem.num_labels, 0.0);
    for (std::size_t i = 0; i < problem.sets.num_rows(); ++i) {
      for (const LabelId label : problem.sets[i]) own[label] += row_size;
    }
    const double pass = row_size * static_cast<double>(problem.sets.num_rows());
    const auto blocks = label_blocks(problem.sets, problem.num_labels);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      double cost = 1 + pass;
      for (const std::uint32_t label : blocks[b]) cost += kOwnPasses * own[label];
      units.push_back({p, b, cost});
    }
  }
  return units;
}

std::vector<Piece> pieces_of(const LabelProblems& all, const std::vector<Unit>& units,
                             std::size_t begin, std::size_t end) {
  std::vector<Piece> pieces;
  for (std::size_t k = begin; k < end; ++k) {
    const auto& [problem, block, own] = units[k];
    if (pieces.empty() || pieces.back().problem != problem || !uses_all_threads(all, problem)) {
      pieces.push_back({problem, {block, block}});
    }
    pieces.back().blocks.end = block + 1;
  }
  return pieces;
}

std::vector<std::vector<Piece>> divide(const std::vector<Unit>& units, std::size_t num_shards) {
  double left = 0;
  for (const Unit& unit : units) left += unit.cost;
  std::vector<std::vector<Piece>> shards(num_shards);
  std::size_t k = 0;
  for (std::size_t s = 0; s < num_shards; ++s) {
    const std::size_t shards_left = num_shards - s;
    const double share = left / static_cast<double>(shards_left);
    double cost = 0;
    do {
      const auto& [problem, block, own] = units[k++];
      if (shards[s].empty() || shards[s].back().problem != problem) {
        shards[s].push_back({problem, {block, block}});
      }
      shards[s].back().blocks.end = block + 1;
      cost += own;
    } while (k < units.size() && units.size() - k >= shards_left &&
             (shards_left == 1 || cost + 0.5 * units[k].cost < share));
    left -= cost;
  }
  return shards;
}

std::vector<Trained> fit_pieces(const LabelProblems& all, const std::vector<Piece>& pieces,
                                Executor& executor, RunControl& control) {
  std::vector<std::vector<LabelFit>> fits(pieces.size());
  std::vector<std::size_t> small;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (uses_all_threads(all, pieces[k].problem)) {
      fits[k] = fit_piece(all, pieces[k], executor, control);
    } else {
      small.push_back(k);
    }
  }
  executor.for_each(small.size(), [&](std::size_t k, int) {
    fits[small[k]] = fit_piece(all, pieces[small[k]], executor, control);
  });
  std::vector<Trained> trained;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const LabelProblem& problem = all.problems[pieces[k].problem];
    const auto blocks = label_blocks(problem.sets, problem.num_labels);
    for (std::size_t b = pieces[k].blocks.begin; b < pieces[k].blocks.end; ++b) {
      for (const std::uint32_t label : blocks[b]) {
        trained.push_back(
            {static_cast<std::uint32_t>(pieces[k].problem), label, std::move(fits[k][label])});
      }
    }
  }
  return trained;
}

void put_trained(TensorMap& out, const std::vector<Trained>& trained) {
  std::vector<std::uint32_t> problems, labels;
  std::vector<std::uint8_t> stops;
  std::vector<std::int32_t> passes;
  std::vector<double> primal, dual;
  std::vector<std::uint64_t> pointers{0};
  std::vector<FeatureId> features;
  std::vector<float> values;
  for (const auto& [problem, label, fit] : trained) {
    problems.push_back(problem);
    labels.push_back(label);
    stops.push_back(static_cast<std::uint8_t>(fit.fit.stop));
    passes.push_back(fit.fit.passes);
    primal.push_back(fit.fit.primal);
    dual.push_back(fit.fit.dual);
    const auto& weights = fit.weights;
    features.insert(features.end(), weights.features.begin(), weights.features.end());
    values.insert(values.end(), weights.values.begin(), weights.values.end());
    pointers.push_back(features.size());
  }
  out.put<std::uint32_t>("problem", problems);
  out.put<std::uint32_t>("label", labels);
  out.put<std::uint8_t>("stop", stops);
  out.put<std::int32_t>("passes", passes);
  out.put<double>("primal", primal);
  out.put<double>("dual", dual);
  out.put<std::uint64_t>("weights.pointers", pointers);
  out.put<FeatureId>("weights.features", features);
  out.put<float>("weights.values", values);
}

std::vector<Trained> get_trained(const TensorMap& tensors, std::uint32_t num_columns) {
  const auto problems = tensors.get<std::uint32_t>("problem");
  const std::size_t size = problems.size();
  const auto labels = tensors.get<std::uint32_t>("label", size);
  const auto stops = tensors.get<std::uint8_t>("stop", size);
  const auto passes = tensors.get<std::int32_t>("passes", size);
  const auto primal = tensors.get<double>("primal", size);
  const auto dual = tensors.get<double>("dual", size);
  const auto pointers = tensors.get<std::uint64_t>("weights.pointers", size + 1);
  const auto features = tensors.get<FeatureId>("weights.features");
  const auto values = tensors.get<float>("weights.values", features.size());
  tensors.check(pointers.front() == 0 && pointers.back() == features.size() &&
                    std::ranges::is_sorted(pointers),
                "tensor weights.pointers must ascend from 0 to ", features.size());
  tensors.check(std::ranges::all_of(features, [&](FeatureId j) { return j < num_columns; }),
                "tensor weights.features must be below ", num_columns);
  std::vector<Trained> trained(size);
  for (std::size_t k = 0; k < size; ++k) {
    tensors.check(stops[k] <= static_cast<std::uint8_t>(Stop::interrupted), "tensor stop: value ",
                  k, " is not known");
    trained[k].problem = problems[k];
    trained[k].label = labels[k];
    LabelFit& fit = trained[k].fit;
    fit.fit = {primal[k], dual[k], passes[k], static_cast<Stop>(stops[k])};
    const auto begin = static_cast<std::ptrdiff_t>(pointers[k]);
    const auto end = static_cast<std::ptrdiff_t>(pointers[k + 1]);
    fit.weights = {{features.begin() + begin, features.begin() + end},
                   {values.begin() + begin, values.begin() + end}};
  }
  return trained;
}

}  // namespace margrove
