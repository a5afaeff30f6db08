#pragma once
// The choice of a method and its options on the training rows, within a limit of time.

#include <optional>
#include <string>
#include <vector>

#include "eval/candidates.hpp"
#include "eval/row_influence.hpp"
#include "margrove/control.hpp"
#include "margrove/selection.hpp"
#include "methods/training.hpp"

namespace margrove {

/// One setting of a candidate, trained and measured on the splits of one stage.
struct Trial {
  std::size_t candidate = 0;  // in the order of the registry
  OptionValues options;       // all that are not at their defaults
  std::size_t stage = 0;
  std::size_t num_rows = 0;               // training rows of a split
  MeasuredMetric metric;                  // on the validation rows of all splits
  std::optional<std::size_t> strength{};  // place in kStrengths
  bool is_variant = false;
};

enum class Verdict {
  chosen,
  tied,  // within one standard error of the best, but less simple than the chosen one
  worse,
  dropped,    // was not among the better half in an earlier stage
  cut,        // did not finish in its share of the time, or before an interruption
  not_tried,  // the search ended before
  failed,     // every training threw
};
template <>
inline constexpr auto kEnumNames<Verdict> =
    std::array{EnumName{Verdict::chosen, "chosen"}, EnumName{Verdict::tied, "tied"},
               EnumName{Verdict::worse, "worse"},   EnumName{Verdict::dropped, "dropped"},
               EnumName{Verdict::cut, "cut"},       EnumName{Verdict::not_tried, "not_tried"},
               EnumName{Verdict::failed, "failed"}};

/// A candidate and its best trial.
struct CandidateResult {
  /// "flat-svm --loss squared-hinge --C 1".
  std::string name() const;

  std::string method;
  OptionValues options;
  Verdict verdict = Verdict::not_tried;
  std::string note;  // the message of a trial that threw
  std::size_t num_trials = 0;
  double seconds = 0;  // of all trials
  // NaN and 0 where there is no trial.
  std::size_t stage = 0;  // of the last trials, which alone are compared
  std::size_t num_rows = 0;
  double score = 0;
  double difference = 0;      // from the candidate with the best score, in the same stage only
  double standard_error = 0;  // of the difference, paired
};

struct AutomaticChoice {
  std::string metric;
  std::size_t num_rows = 0, num_splits = 0;
  double seconds = 0;                       // of the whole search
  std::vector<CandidateResult> candidates;  // the chosen one, then by stage and score
  std::vector<LeftOut> left_out;
  std::string reason;               // a sentence: why the first one is chosen
  Stop stop = Stop::converged;      // time_limit: some trial was cut or not made; interrupted
  std::optional<ModelParts> model;  // of the chosen trial, trained on model_rows rows
  std::size_t model_rows = 0;

  /// There is one if there is a model.
  const CandidateResult& chosen() const { return candidates.front(); }
};

/// Trains the candidates (candidates.hpp), each with one value of C and then with a few others, on
/// a part of the rows, and measures them on held-out rows; the better half, and all within two
/// standard errors of the best, go on to a stage with four times the rows, and so on up to all
/// training rows. There, C is refined around the best values, and node-weight rules are tried. Of
/// the candidates within one paired standard error of the best the simplest is chosen.
///
/// With a time limit, each candidate is first trained on a sample, the probe. It tells what the
/// candidate will take; those that take least begin. A trial may take its share of the time left,
/// and only so much that training on all rows would still fit; what is expected not to fit is not
/// tried, and is chosen if it was better than the best one where both were measured last. Without
/// a time limit the result depends on the data and the seed only. If no trial was finished,
/// `candidates` is without a chosen one and `model` empty.
/// Throws InvalidOption for an unknown metric or wrong preprocessing, InvalidInput for data that
/// nothing can be trained on.
AutomaticChoice choose_automatically(const Examples& raw, const Hierarchy* hierarchy,
                                     const PreprocessingOptions& preprocessing,
                                     const AutomaticOptions& options, double memory_limit,
                                     Executor& executor, RunControl& control);

/// Why this candidate was chosen, as a sentence without a full stop. The choice must have one.
std::string reason_of(const AutomaticChoice& choice);

/// Trains the chosen candidate on all rows. If the time limit or an interruption ends this, the
/// model is that of the search, and a warning in its report says on how many rows it was trained.
/// The choice must have a model, and loses it. Throws what train_model() throws, and InvalidInput
/// where the memory does not suffice.
ModelParts train_chosen(AutomaticChoice& choice, Examples raw, const Hierarchy* hierarchy,
                        const PreprocessingOptions& preprocessing, const AutomaticOptions& options,
                        double memory_limit, Executor& executor, RunControl& control);

}  // namespace margrove
