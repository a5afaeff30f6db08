#include "model/answers.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/keep_first.hpp"
#include "model/log_odds.hpp"

namespace margrove {
namespace {

/// The labels and all their ancestors, each once, parents before children.
std::vector<LabelId> with_ancestors(const LabelGraph& hierarchy, std::span<const LabelId> labels) {
  std::set<std::pair<std::uint32_t, LabelId>> closed;
  for (const LabelId label : labels) {
    for (const NodeId n : hierarchy.ancestors(label)) closed.insert({hierarchy.depth(n), n});
  }
  std::vector<LabelId> all;
  for (const auto& [depth, n] : closed) all.push_back(n);
  return all;
}

/// The k labels with the largest scores, at least one, of those that can be predicted.
Answer most_probable(const RowProbabilities& p, std::size_t k) {
  std::vector<LabelId> ranked(p.scores.size());
  std::iota(ranked.begin(), ranked.end(), LabelId{0});
  keep_first(ranked, std::max<std::size_t>(k, 1), [&](LabelId a, LabelId b) {
    return p.scores[a] > p.scores[b] || (p.scores[a] == p.scores[b] && a < b);
  });
  Answer best;
  for (const LabelId label : ranked) {
    if (!std::isfinite(p.scores[label])) break;
    best.labels.push_back(label);
    best.numbers.push_back(static_cast<float>(p.labels[label]));
  }
  return best;
}

Answer most_specific(const HierarchyProbabilities& hierarchy, const RowProbabilities& p,
                     double min_confidence) {
  const auto label = hierarchy.confident(p.labels, p.nodes, min_confidence);
  if (!label) return {};
  return {{*label}, {static_cast<float>(p.nodes[*label])}};
}

Answer all_specific(const HierarchyProbabilities& hierarchy, const RowProbabilities& p,
                    double min_confidence) {
  Answer answer{hierarchy.lowest_confident(p.nodes, min_confidence), {}};
  for (const LabelId label : answer.labels) answer.numbers.push_back(p.nodes[label]);
  return answer;
}

/// Of models that give each row one label.
std::vector<Answer> probable(const ModelParts& model, const HierarchyProbabilities* hierarchy,
                             const AnswerOptions& options, const CsrView& X, Executor& executor) {
  std::vector<Answer> answers(X.num_rows());
  const bool is_specific = options.min_confidence >= 0;
  for_probabilities(model.rows(), model.probability_rule(), is_specific ? hierarchy : nullptr, X,
                    executor, [&](std::size_t i, const RowProbabilities& p) {
                      answers[i] = is_specific
                                       ? most_specific(*hierarchy, p, options.min_confidence)
                                       : most_probable(p, static_cast<std::size_t>(options.top));
                    });
  return answers;
}

std::vector<Answer> best(const ModelParts& model, std::size_t k, const CsrView& X,
                         Executor& executor) {
  const RankedLabels top = model.rows().top(X, k, executor);
  std::vector<Answer> answers(X.num_rows());
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    for (std::size_t n = top.pointers[i]; n < top.pointers[i + 1]; ++n) {
      answers[i].labels.push_back(top.labels[n]);
      answers[i].numbers.push_back(top.scores[n]);
    }
  }
  return answers;
}

std::vector<Answer> label_sets(const ModelParts& model, bool with_scores, const CsrView& X,
                               Executor& executor) {
  const RowPredictor& predictor = model.rows();
  const LabelSets sets = predictor.predict(X, executor);
  std::vector<float> scores(with_scores ? predictor.num_labels() : 0);
  std::vector<Answer> answers(X.num_rows());
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    answers[i].labels.assign(sets[i].begin(), sets[i].end());
    if (!with_scores) continue;
    predictor.scores(X, i, i + 1, scores);
    for (const LabelId label : sets[i]) answers[i].numbers.push_back(scores[label]);
  }
  return answers;
}

/// Of models that give label sets: the predicted set, the best labels, or the lowest nodes that are
/// probable enough.
std::vector<Answer> probable_sets(const ModelParts& model, const HierarchyProbabilities* hierarchy,
                                  const AnswerOptions& options, const CsrView& X,
                                  Executor& executor) {
  const bool is_specific = options.min_confidence >= 0;
  std::vector<Answer> answers(X.num_rows());
  if (!is_specific) {
    answers = options.top > 0 ? best(model, static_cast<std::size_t>(options.top), X, executor)
                              : label_sets(model, /*with_scores=*/false, X, executor);
  }
  for_probabilities(model.rows(), model.probability_rule(), is_specific ? hierarchy : nullptr, X,
                    executor, [&](std::size_t i, const RowProbabilities& p) {
                      if (is_specific) {
                        answers[i] = all_specific(*hierarchy, p, options.min_confidence);
                        return;
                      }
                      answers[i].numbers.clear();
                      for (const LabelId label : answers[i].labels) {
                        answers[i].numbers.push_back(p.labels[label]);
                      }
                    });
  return answers;
}

std::vector<Answer> numbered_answers(const ModelParts& model,
                                     const HierarchyProbabilities* hierarchy,
                                     const AnswerOptions& options, const CsrView& X,
                                     Executor& executor) {
  if (options.needs_probabilities()) {
    return model.rows().gives_one_label() ? probable(model, hierarchy, options, X, executor)
                                          : probable_sets(model, hierarchy, options, X, executor);
  }
  if (options.top > 0) return best(model, static_cast<std::size_t>(options.top), X, executor);
  return label_sets(model, options.scores, X, executor);
}

}  // namespace

void AnswerOptions::check(const ModelParts& model) const {
  AnswerOptions given = *this, defaults;
  const OptionTable present(given), absent(defaults);
  const auto is_given = [&](std::string_view name) {
    return present.get(name) != absent.get(name);
  };
  if (model.predictor->rows() == nullptr) {
    for (const OptionInfo& option : present.list()) {
      require<InvalidOption>(!is_given(option.name), "option ", option.name,
                             " is given, but the examples of method ", model.method,
                             " are not rows");
    }
    return;
  }
  for (const auto& [first, second] : kExclusions) {
    require<InvalidOption>(!is_given(first) || !is_given(second), "options ", first, " and ",
                           second, " are both given, but exclude each other");
  }
  if (needs_probabilities()) require_probabilities(model);
}

void require_explainable(const ModelParts& model, const CsrView& X, LabelId label) {
  std::vector<float> scores(model.rows().num_labels());
  model.rows().probability_scores(X, 0, 1, scores);  // also of labels that a search did not reach
  require<InvalidOption>(scores[label] > -std::numeric_limits<float>::infinity(),
                         "option label is '", model.labels.name(label),
                         "', which has no score, because the model never predicts it");
}

void require_no_label(const ModelParts& model, const ExplainOptions& options) {
  require<InvalidOption>(options.label.empty(),
                         "option label is given, but the examples of method ", model.method,
                         " are not rows");
}

std::vector<Answer> answer_rows(const ModelParts& model, const HierarchyProbabilities* hierarchy,
                                const AnswerOptions& options, const CsrView& X,
                                Executor& executor) {
  std::vector<Answer> answers = numbered_answers(model, hierarchy, options, X, executor);
  for (Answer& answer : answers) {
    if (!options.scores && !options.probabilities) answer.numbers.clear();
    if (options.paths) answer.labels = with_ancestors(model.hierarchy, answer.labels);
  }
  return answers;
}

}  // namespace margrove
