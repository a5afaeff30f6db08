#pragma once
// Estimators with one linear classifier per label: flat, recursively regularised, top-down
// and with level weights.
// Beside the options, kMethod is the name of each in the program and in the registry.

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/common_options.hpp"
#include "margrove/decision_kind.hpp"
#include "margrove/node_weights.hpp"
#include "margrove/partial_labels_option.hpp"
#include "margrove/point_loss_kind.hpp"
#include "margrove/structured.hpp"
#include "margrove/surrogates.hpp"

namespace margrove MARGROVE_API {

namespace detail {
template <class Options>
auto decision_fields() {
  return std::tuple{
      field(
          "decision", &Options::decision,
          {DecisionKind::automatic, DecisionKind::argmax, DecisionKind::zero,
           DecisionKind::threshold, DecisionKind::scut, DecisionKind::shrunk, DecisionKind::rcut,
           DecisionKind::instance},
          "labels of a row from its scores: the best one (argmax); those above zero; those above "
          "one threshold for all labels (threshold), one for each (scut), or one for each that is "
          "shrunk towards a common one (shrunk); a fixed number of best ones (rcut); those above a "
          "threshold predicted from the row's scores (instance); auto: the better one of instance "
          "and threshold where training rows have several labels, otherwise argmax"),
      field("decision_folds", &Options::decision_folds, at_least(2),
            "folds of the cross-validation whose scores tune threshold, scut, shrunk, rcut and "
            "instance, and fit the level weights of level-svm; they and the training itself share "
            "a time "
            "limit evenly"),
  };
}
/// Whether names of labels count: always, never, or by default (`auto`) where they can.
struct MatchNames {
  std::optional<bool> value;

  MatchNames() = default;
  /// Only of a bool, to which texts, such as "auto", would convert.
  template <std::same_as<bool> Bool>
  MatchNames(Bool always) : value(always) {}  // NOLINT(google-explicit-constructor)
  /// Throws InvalidOption unless the text is `auto`, `true` or `false`.
  static MatchNames parse(std::string_view text);
  std::string to_text() const;
};
template <>
constexpr std::string_view option_type<MatchNames>(bool /*has_choices*/) {
  return "switch";
}

/// The methods that level-svm adds to its levels, or none; by default (`auto`) where they help.
struct Stack {
  std::optional<std::vector<std::string>> methods;

  Stack() = default;
  /// No names: none.
  Stack(std::initializer_list<std::string> names) : methods(names) {}
  /// Throws InvalidOption unless the text is `auto`, `none` or names separated by commas, or by +
  /// as in grids, as validate() does.
  static Stack parse(std::string_view text);
  std::string to_text() const;
  void validate() const;
};

/// `when`: how the text begins, which says with what options the names count.
template <class Options>
auto match_names_field(std::string_view when) {
  std::string help =
      concat(when,
             "the similarity of a text to the names of a label (of --label-names, names and "
             "alternative names of SKOS, names and synonyms of OBO; or the label itself, where "
             "none has a name and at least half of them are words) adds to its score, with a "
             "weight fitted by a cross-validation in decision_folds; labels with names and without "
             "rows can be answered, too");
  if constexpr (requires { Options().match_names.value; }) {
    return std::tuple{Field<Options, MatchNames, detail::Choices>{
        "match_names", &Options::match_names, {{"auto", "true", "false"}}, std::move(help)}};
  } else {
    return std::tuple{field("match_names", &Options::match_names, std::move(help))};
  }
}
}  // namespace detail

// One-vs-rest -------------------------------------------------------------------------------------

namespace detail {
template <class Options>
auto one_vs_rest_fields() {
  return std::tuple_cat(detail::common_fields<Options>(), detail::decision_fields<Options>(),
                        std::tuple{
                            field("tolerance", &Options::tolerance, positive,
                                  "relative duality gap at which training stops"),
                            field("max_passes", &Options::max_passes, at_least(1),
                                  "maximum number of passes over the rows"),
                        },
                        detail::match_names_field<Options>("rows of texts, one-vs-rest: "),
                        detail::partial_labels_field<Options>());
}
}  // namespace detail

/// Each label against the rest, or all labels in one problem: Crammer and Singer's, or the softmax
/// of all scores (multinomial logistic regression).
enum class MulticlassKind { automatic, ovr, crammer_singer, softmax };
template <>
inline constexpr auto kEnumNames<MulticlassKind> =
    std::array{EnumName{MulticlassKind::automatic, "auto"}, EnumName{MulticlassKind::ovr, "ovr"},
               EnumName{MulticlassKind::crammer_singer, "crammer-singer"},
               EnumName{MulticlassKind::softmax, "softmax"}};

namespace detail {
/// Of logistic methods.
template <class Options>
auto softmax_field() {
  return std::tuple{field("multiclass", &Options::multiclass,
                          {MulticlassKind::ovr, MulticlassKind::softmax},
                          "logistic loss of each label against the rest, or of the softmax of all "
                          "scores (multinomial; rows with one label, regularised intercepts, "
                          "hierarchies that are nearly trees)")};
}
}  // namespace detail

/// The loss of a row's margin: automatic is the squared hinge, and the hinge with crammer-singer.
enum class FlatSvmLoss { automatic, hinge, squared_hinge };
template <>
inline constexpr auto kEnumNames<FlatSvmLoss> =
    std::array{EnumName{FlatSvmLoss::automatic, "auto"}, EnumName{FlatSvmLoss::hinge, "hinge"},
               EnumName{FlatSvmLoss::squared_hinge, "squared-hinge"}};

struct FlatSvmOptions {
  static constexpr std::string_view kMethod = "flat-svm";
  std::optional<double> C = {};
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  double tolerance = 1e-3;
  int max_passes = 1000;
  bool match_names = false;
  bool partial_labels = false;
  FlatSvmLoss loss = FlatSvmLoss::automatic;
  MulticlassKind multiclass = MulticlassKind::ovr;
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  StructuredSolver solver = StructuredSolver::automatic;
  int epochs = 50;
  std::optional<int> max_bans = {};
  std::optional<double> search_tolerance = {};
  std::optional<int> search_calls = {};
  std::optional<int> convex_passes = {};
  std::optional<double> learning_rate = {};
  std::string cost_matrix = {};
  static auto fields() {
    return std::tuple_cat(
        detail::one_vs_rest_fields<FlatSvmOptions>(),
        detail::structured_fields<FlatSvmOptions>("crammer-singer: "),
        std::tuple{
            field("loss", &FlatSvmOptions::loss,
                  "loss of each row's margin; auto: squared-hinge for ovr, hinge for "
                  "crammer-singer, which has no other"),
            field(
                "multiclass", &FlatSvmOptions::multiclass,
                {MulticlassKind::ovr, MulticlassKind::crammer_singer},
                "each label against the rest, or all labels in one problem (rows with one label)"),
            field("epochs", &FlatSvmOptions::epochs, at_least(1),
                  "crammer-singer by sgd: passes over the rows"),
            field("cost_matrix", &FlatSvmOptions::cost_matrix, detail::Choices{},
                  std::string("crammer-singer: ") + detail::kCostMatrixHelp),
        });
  }
};

struct FlatLrOptions {
  static constexpr std::string_view kMethod = "flat-lr";
  std::optional<double> C = {};
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  double tolerance = 1e-3;
  int max_passes = 1000;
  bool match_names = false;
  bool partial_labels = false;
  MulticlassKind multiclass = MulticlassKind::ovr;
  static auto fields() {
    return std::tuple_cat(detail::one_vs_rest_fields<FlatLrOptions>(),
                          detail::softmax_field<FlatLrOptions>());
  }
};

struct TopDownSvmOptions {
  static constexpr std::string_view kMethod = "top-down-svm";
  std::optional<double> C = {};
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  double tolerance = 1e-3;
  int max_passes = 1000;
  bool partial_labels = false;
  PointLossKind loss = PointLossKind::hinge;
  int beam = 1;
  static auto fields() {
    using Options = TopDownSvmOptions;
    return std::tuple_cat(
        detail::common_fields<Options>(), detail::decision_fields<Options>(),
        std::tuple{
            field("tolerance", &Options::tolerance, positive,
                  "relative duality gap at which training of a node stops"),
            field("max_passes", &Options::max_passes, at_least(1),
                  "maximum number of passes over the rows of a node"),
            field("loss", &Options::loss, {PointLossKind::hinge, PointLossKind::squared_hinge},
                  "loss of each row's margin"),
            field(
                "beam", &Options::beam, at_least(0),
                "number of most probable paths kept at each level, where a scale of the margins is "
                "learned on held-out rows (trains twice); 1: greedy, 0: all"),
        },
        detail::partial_labels_field<Options>());
  }
};

struct LabelTreesOptions {
  static constexpr std::string_view kMethod = "label-trees";
  std::optional<double> C = {};
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  double tolerance = 1e-3;
  int max_passes = 1000;
  PointLossKind loss = PointLossKind::squared_hinge;
  int trees = 3;
  bool one_vs_rest = true;
  int max_leaves = 100;
  int beam = 10;
  static auto fields() {
    using Options = LabelTreesOptions;
    return std::tuple_cat(
        detail::common_fields<Options>(), detail::decision_fields<Options>(),
        std::tuple{
            field("tolerance", &Options::tolerance, positive,
                  "relative duality gap at which training of a node stops"),
            field("max_passes", &Options::max_passes, at_least(1),
                  "maximum number of passes over the rows of a node"),
            field("loss", &Options::loss, {PointLossKind::hinge, PointLossKind::squared_hinge},
                  "loss of each row's margin"),
            field("trees", &Options::trees, at_least(1),
                  "number of learned trees, whose probabilities are averaged; one for up to "
                  "max_leaves labels"),
            field("one_vs_rest", &Options::one_vs_rest,
                  "whether one-vs-rest classifiers of all labels are one more tree"),
            field("max_leaves", &Options::max_leaves, at_least(2),
                  "labels are divided into halves until a half has at most so many"),
            field("beam", &Options::beam, at_least(0),
                  "number of most probable inner nodes kept at each level of a tree; 0: all"),
        });
  }
};

struct LevelSvmOptions {
  static constexpr std::string_view kMethod = "level-svm";
  std::optional<double> C = {};
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  double tolerance = 1e-3;
  int max_passes = 1000;
  detail::MatchNames match_names = {};  // or a bool
  PointLossKind loss = PointLossKind::squared_hinge;
  MulticlassKind multiclass = MulticlassKind::automatic;
  detail::Stack stack = {};  // {"nhsvm", "flat-lr"}
  static auto fields() {
    using Options = LevelSvmOptions;
    return std::tuple_cat(
        detail::common_fields<Options>(), detail::decision_fields<Options>(),
        std::tuple{
            field("tolerance", &Options::tolerance, positive,
                  "relative duality gap at which training of a node stops"),
            field("max_passes", &Options::max_passes, at_least(1),
                  "maximum number of passes over the rows for a node"),
        },
        detail::match_names_field<Options>(
            "rows of texts (auto: where labels have names and bias is not 0; false: never): "),
        std::tuple{
            field("loss", &Options::loss, {PointLossKind::hinge, PointLossKind::squared_hinge},
                  "ovr: loss of each row's margin; crammer-singer has the hinge"),
            field("multiclass", &Options::multiclass,
                  {MulticlassKind::automatic, MulticlassKind::ovr, MulticlassKind::crammer_singer},
                  "rows with one label: the nodes of a level in one problem, where each row has "
                  "one of them, or each node against the rest, which alone trains in shards; auto: "
                  "crammer-singer, but ovr where rows have several labels, intercepts are free, or "
                  "a level has more than 2.5e8 pairs of a column and a node"),
            field(
                "stack", &Options::stack,
                "scores that are added to those of the levels, with weights fitted on the same "
                "held-out rows: some of centroids (the cosine of a row and the mean of a leaf's "
                "rows) and, of rows with one label, nhsvm and flat-lr, separated by commas (in a "
                "grid by +), or none; auto: centroids where at least 1000 rows are sparse and of "
                "one length, as of texts; nhsvm and flat-lr where rows are dense and have one "
                "label, at least 1000 of them differ and more than there are columns, no names of "
                "labels count, intercepts are not free and multiclass is not ovr; otherwise none"),
        });
  }
};

// Recursive regularisation ------------------------------------------------------------------------

/// What several parents of a node mean: the classifier of a leaf is the sum over all its ancestors,
/// or each node is regularised towards every parent.
enum class DagRule { additive, graph };
template <>
inline constexpr auto kEnumNames<DagRule> =
    std::array{EnumName{DagRule::additive, "additive"}, EnumName{DagRule::graph, "graph"}};

enum class RecursiveSolver { joint, alternating };
template <>
inline constexpr auto kEnumNames<RecursiveSolver> =
    std::array{EnumName{RecursiveSolver::joint, "joint"},
               EnumName{RecursiveSolver::alternating, "alternating"}};

namespace detail {
template <class Options>
auto recursive_fields() {
  return std::tuple_cat(
      detail::common_fields<Options>(), detail::decision_fields<Options>(),
      std::tuple{
          field("alpha", &Options::alpha, detail::node_weight_help("uniform (the paper's)")),
          field("dag", &Options::dag,
                "nodes with several parents: the classifier of a leaf is the sum over all its "
                "ancestors, or each node is regularised towards every parent; the same on trees"),
          field("label_graph", &Options::label_graph, detail::Choices{},
                "instead of a hierarchy's edges: file of pairs of labels, one per line, whose "
                "classifiers are regularised towards each other (hr-svm: alternating solver)"),
          field("anchor", &Options::anchor, detail::Choices{},
                "with a label graph: strength x of the regularisation towards zero, for all "
                "labels, or as LABEL=x,LABEL=x for some"),
          field("tolerance", &Options::tolerance, positive,
                "relative duality gap at which training stops; where nodes are solved in turn "
                "(alternating; hr-lr on label graphs without anchors): relative change of the "
                "objective"),
          field("max_passes", &Options::max_passes, at_least(1),
                "maximum number of passes over all labels"),
      },
      detail::partial_labels_field<Options>());
}
}  // namespace detail

struct HrSvmOptions {
  static constexpr std::string_view kMethod = "hr-svm";
  std::optional<double> C = {};
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  NodeWeightRule alpha = {};
  DagRule dag = DagRule::additive;
  std::string label_graph = {};
  std::string anchor = {};
  double tolerance = 1e-3;
  int max_passes = 1000;
  bool partial_labels = false;
  PointLossKind loss = PointLossKind::hinge;
  RecursiveSolver solver = RecursiveSolver::joint;
  static auto fields() {
    return std::tuple_cat(
        detail::recursive_fields<HrSvmOptions>(),
        std::tuple{
            field("loss", &HrSvmOptions::loss, {PointLossKind::hinge, PointLossKind::squared_hinge},
                  "loss of each row's margin"),
            field("solver", &HrSvmOptions::solver,
                  "dual coordinate descent over all leaves at once with a duality gap, or the "
                  "paper's alternation between nodes"),
        });
  }
};

struct HrLrOptions {
  static constexpr std::string_view kMethod = "hr-lr";
  std::optional<double> C = {};
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  NodeWeightRule alpha = {};
  DagRule dag = DagRule::additive;
  std::string label_graph = {};
  std::string anchor = {};
  double tolerance = 1e-3;
  int max_passes = 1000;
  bool partial_labels = false;
  MulticlassKind multiclass = MulticlassKind::ovr;
  static auto fields() {
    return std::tuple_cat(detail::recursive_fields<HrLrOptions>(),
                          detail::softmax_field<HrLrOptions>());
  }
};

namespace detail {
using LinearEstimators = std::variant<FlatSvmOptions, FlatLrOptions, HrSvmOptions, HrLrOptions,
                                      TopDownSvmOptions, LabelTreesOptions, LevelSvmOptions>;
}

}  // namespace margrove
