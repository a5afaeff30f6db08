#include "structured_bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "margrove/errors.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"
#include "margrove/structured.hpp"
#include "reporter.hpp"
#include "surrogate_argument.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace margrove::python {
namespace {

// Values of the user's methods --------------------------------------------------------------------

/// phi(x, y), without zeros, indices ascending.
struct JointFeature {
  std::vector<std::uint64_t> indices;
  std::vector<double> values;
  std::size_t size = 0;  // with the zeros

  void add(std::uint64_t index, double value) {
    if (value == 0.0) return;
    indices.push_back(index);
    values.push_back(value);
  }
};

/// A labelling that the user's oracle returned, with all that the solvers ask about it. Python is
/// not called again for it, unless it must be compared with one of the same loss and features.
struct KnownLabelling {
  nb::object y;
  double loss = 0.0;
  SparseVector difference;  // from the true labelling
  JointFeature feature;     // kept for the true labellings only

  KnownLabelling() = default;
  KnownLabelling(const KnownLabelling&) = delete;
  KnownLabelling& operator=(const KnownLabelling&) = delete;
  ~KnownLabelling() {
    const nb::gil_scoped_acquire gil;
    y.reset();
  }
};

/// The Python objects of a model: its methods and the helpers of margrove/structured.py.
struct UserMethods {
  nb::object joint_feature, argmax, loss;
  nb::object argmax_without, k_best, constrained_argmax;  // None if the model has no such method
  nb::object read_feature;  // value -> float64 array, or (size, columns, values) of sparse rows
  nb::object are_equal;     // (labelling, labelling) -> bool
};

UserMethods methods_of(const nb::object& model, const nb::object& read_feature,
                       const nb::object& are_equal) {
  const auto optional = [&](const char* name) { return nb::getattr(model, name, nb::none()); };
  return {model.attr("joint_feature"),
          model.attr("argmax"),
          model.attr("loss"),
          optional("argmax_without"),
          optional("k_best"),
          optional("constrained_argmax"),
          read_feature,
          are_equal};
}

/// A labelling of the user in the library's terms. Copies share it.
struct SharedLabelling {
  std::shared_ptr<const KnownLabelling> known;
  const UserMethods* methods = nullptr;

  bool operator==(const SharedLabelling& other) const {
    if (known == other.known) return true;
    if (known->loss != other.known->loss ||
        known->difference.indices != other.known->difference.indices ||
        known->difference.values != other.known->difference.values) {
      return false;
    }
    const nb::gil_scoped_acquire gil;
    return nb::cast<bool>(methods->are_equal(known->y, other.known->y));
  }
};

double number_of(const nb::object& value, const char* method, std::size_t i) {
  double number = 0.0;
  if (!nb::try_cast(value, number)) {
    nb::raise_type_error("%s of example %zu returned a value of type %s, but must return a number",
                         method, i, nb::type_name(value.type()).c_str());
  }
  return number;
}

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

JointFeature feature_of(const nb::object& value, const UserMethods& methods, std::size_t i) {
  JointFeature feature;
  Doubles dense;
  nb::object read;
  if (!nb::try_cast(value, dense, false)) {
    read = methods.read_feature(value, i);
    if (nb::isinstance<nb::tuple>(read)) {
      const auto [size, columns, values] =
          nb::cast<std::tuple<std::size_t, Columns, Doubles>>(read);
      feature.size = size;
      for (std::size_t k = 0; k < columns.size(); ++k) {
        feature.add(static_cast<std::uint64_t>(columns(k)), values(k));
      }
    } else {
      dense = nb::cast<Doubles>(read, false);
    }
  }
  if (dense.is_valid()) {
    feature.size = dense.size();
    const double* values = dense.data();
    for (std::size_t k = 0; k < feature.size; ++k) feature.add(k, values[k]);
  }
  for (std::size_t k = 0; k < feature.values.size(); ++k) {
    require(std::isfinite(feature.values[k]), "joint_feature of example ", i, ": value ",
            feature.indices[k], " is ", feature.values[k], ", but must be finite");
  }
  return feature;
}

SparseVector difference_of(const JointFeature& a, const JointFeature& b) {
  SparseVector difference;
  const auto add = [&](std::uint64_t index, double value) {
    if (value != 0.0) difference.add(index, static_cast<float>(value));
  };
  std::size_t j = 0, k = 0;
  while (j < a.indices.size() || k < b.indices.size()) {
    if (k == b.indices.size() || (j < a.indices.size() && a.indices[j] < b.indices[k])) {
      add(a.indices[j], a.values[j]);
      ++j;
    } else if (j == a.indices.size() || b.indices[k] < a.indices[j]) {
      add(b.indices[k], -b.values[k]);
      ++k;
    } else {
      add(a.indices[j], a.values[j] - b.values[k]);
      ++j, ++k;
    }
  }
  return difference;
}

// The model ---------------------------------------------------------------------------------------

/// The weights in an array of Python, which outlives all references that users keep to it.
struct WeightArray {
  nb::object array;
  double* values = nullptr;

  WeightArray() = default;
  WeightArray(const WeightArray&) = delete;
  WeightArray& operator=(const WeightArray&) = delete;
  ~WeightArray() {
    const nb::gil_scoped_acquire gil;
    array.reset();
  }

  void set(ScaledWeights w) {
    const std::size_t size = w.values.size();
    if (values == nullptr) {
      auto* kept = new std::vector<double>(size);
      nb::capsule owner(kept,
                        [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
      values = kept->data();
      array = nb::cast(nb::ndarray<nb::numpy, const double>(values, 1, &size, owner));
    }
    for (std::size_t k = 0; k < size; ++k) {
      values[k] = w.scale * static_cast<double>(w.values[k]);
    }
  }
};

/// The user's model over the training examples. The constructor and the destructor need the GIL;
/// all else acquires it where Python is called.
class PythonModel final : public detail::AnyStructuredModel {
 public:
  using Found = Candidate<detail::AnyLabelling>;

  PythonModel(UserMethods methods, const nb::list& X, const nb::list& Y)
      : methods_(std::move(methods)), x_(X), y_(Y) {
    require(X.size() == Y.size(), "y: it has ", Y.size(), " labellings, but must have ", X.size(),
            " as X has examples");
    require(X.size() > 0, "X: there are no examples, but must be at least one");
    for (std::size_t i = 0; i < X.size(); ++i) add_truth(i);
  }

  std::size_t num_examples() const override { return truths_.size(); }
  std::size_t num_weights() const override { return truth_of(0).feature.size; }
  std::shared_ptr<void> workspace() const override { return std::make_shared<WeightArray>(); }
  std::unique_ptr<detail::AnyOracle> oracle(std::size_t i, ScaledWeights w,
                                            void* workspace) const override;
  void difference(std::size_t, const detail::AnyLabelling& y, SparseVector& out) const override {
    out = y.as<SharedLabelling>().known->difference;
  }
  detail::AnyLabelling truth(std::size_t i) const override { return truths_[i]; }

  const UserMethods& methods() const { return methods_; }
  nb::object x(std::size_t i) const { return x_[i]; }
  nb::object y(std::size_t i) const { return y_[i]; }

  /// Calls joint_feature and loss. With the GIL.
  detail::AnyLabelling known(std::size_t i, nb::object y) const {
    auto known = std::make_shared<KnownLabelling>();
    known->loss = checked_loss(i, y);
    const JointFeature feature = checked_feature(i, y);
    known->difference = difference_of(feature, truth_of(i).feature);
    known->y = std::move(y);
    return detail::AnyLabelling::of(SharedLabelling{std::move(known), &methods_});
  }

  /// Bounds the error of w_m m + w_g g if the user's method sums in single precision.
  double rounding(std::size_t i, const SharedLabelling& y, ScaledWeights w, double w_m,
                  double w_g) const {
    double size = 0.0;
    const auto add = [&](std::uint64_t k, double value) {
      size += std::abs(w.scale * static_cast<double>(w.values[k]) * value);
    };
    const JointFeature& truth = truth_of(i).feature;
    const SparseVector& difference = y.known->difference;
    for (std::size_t k = 0; k < truth.indices.size(); ++k) add(truth.indices[k], truth.values[k]);
    for (std::size_t k = 0; k < difference.indices.size(); ++k) {
      add(difference.indices[k], static_cast<double>(difference.values[k]));
    }
    return 1e-4 * (w_m * size + w_g * y.known->loss);
  }

 private:
  const KnownLabelling& truth_of(std::size_t i) const {
    return *truths_[i].as<SharedLabelling>().known;
  }

  double checked_loss(std::size_t i, const nb::object& y) const {
    const double loss = number_of(methods_.loss(this->y(i), y), "loss", i);
    require(std::isfinite(loss) && loss >= 0, "loss of example ", i, " is ", loss,
            ", but must be finite and >= 0");
    return loss;
  }

  JointFeature checked_feature(std::size_t i, const nb::object& y) const {
    JointFeature feature = feature_of(methods_.joint_feature(x(i), y), methods_, i);
    const std::size_t size = truths_.empty() ? feature.size : num_weights();
    require(feature.size == size, "joint_feature of example ", i, " has ", feature.size,
            " values, but must have ", size, " as that of example 0");
    return feature;
  }

  void add_truth(std::size_t i) {
    auto known = std::make_shared<KnownLabelling>();
    known->y = y(i);
    known->loss = checked_loss(i, known->y);
    require(known->loss == 0, "loss of example ", i, " is ", known->loss,
            " at the true labelling, but must be 0 there");
    known->feature = checked_feature(i, known->y);
    require(known->feature.size > 0,
            "joint_feature of example 0 has no values, but must have at least one");
    truths_.push_back(detail::AnyLabelling::of(SharedLabelling{std::move(known), &methods_}));
  }

  UserMethods methods_;
  nb::list x_, y_;
  std::vector<detail::AnyLabelling> truths_;
};

class PythonOracle final : public detail::AnyOracle {
 public:
  PythonOracle(const PythonModel& model, std::size_t i, ScaledWeights w, WeightArray& array)
      : model_(model), i_(i), w_(w), array_(array) {}

  Found truth() const override { return {model_.truth(i_), 0.0, 0.0}; }

  Found argmax(double w_m, double w_g) const override {
    const nb::gil_scoped_acquire gil;
    const auto [m, g] = both_positive(w_m, w_g);
    return *checked(call(model_.methods().argmax, m, g), m, g, "argmax", false);
  }

  bool has_argmax_without() const override {
    return !model_.methods().argmax_without.is_none() || !model_.methods().k_best.is_none();
  }
  std::optional<Found> argmax_without(double w_m, double w_g,
                                      std::span<const detail::AnyLabelling> banned) const override {
    const nb::gil_scoped_acquire gil;
    const auto [m, g] = both_positive(w_m, w_g);
    if (model_.methods().argmax_without.is_none()) return best_of_list(m, g, banned);
    nb::list bans;
    for (const auto& y : banned) bans.append(y.as<SharedLabelling>().known->y);
    auto found =
        checked(call(model_.methods().argmax_without, m, g, bans), m, g, "argmax_without", true);
    require(!found || !contains(banned, found->y), "argmax_without of example ", i_,
            " returned a labelling that is among those it was to leave out");
    return found;
  }

  bool has_constrained_argmax() const override {
    return !model_.methods().constrained_argmax.is_none();
  }
  std::optional<Found> constrained_argmax(double w_m, double w_g,
                                          const SlopeBounds& bounds) const override {
    const nb::gil_scoped_acquire gil;
    const auto [m, g] = both_positive(w_m, w_g);
    return checked(call(model_.methods().constrained_argmax, m, g, bounds), m, g,
                   "constrained_argmax", true);
  }

 private:
  // Where one of the weights is 0, ties must go to the larger of what it weighs. A weight that is
  // nearly 0 has this effect, so that users need not think of ties.
  static std::pair<double, double> both_positive(double w_m, double w_g) {
    return {std::max(w_m, 1e-9 * w_g), std::max(w_g, 1e-9 * w_m)};
  }

  template <class... Rest>
  nb::object call(const nb::object& method, double w_m, double w_g, const Rest&... rest) const {
    array_.set(w_);
    return method(model_.x(i_), array_.array, model_.y(i_), w_m, w_g, rest...);
  }

  Found at(detail::AnyLabelling y) const {
    const KnownLabelling& known = *y.as<SharedLabelling>().known;
    double m = 0.0;
    for (std::size_t k = 0; k < known.difference.indices.size(); ++k) {
      m += static_cast<double>(w_.values[known.difference.indices[k]]) *
           static_cast<double>(known.difference.values[k]);
    }
    return {std::move(y), w_.scale * m, known.loss};
  }

  // The labelling that a method returned; None only if none_allowed. It must not be worse than the
  // true one if the method searched all labellings.
  std::optional<Found> checked(nb::object y, double w_m, double w_g, const char* method,
                               bool none_allowed) const {
    if (y.is_none()) {
      if (!none_allowed) {
        nb::raise_type_error("%s of example %zu returned None, but must return a labelling", method,
                             i_);
      }
      return std::nullopt;
    }
    Found found = at(model_.known(i_, std::move(y)));
    if (none_allowed) return found;
    const double value = w_m * found.m + w_g * found.g;
    const double error = model_.rounding(i_, found.y.as<SharedLabelling>(), w_, w_m, w_g);
    require(value >= -error, method, " of example ", i_,
            " returned a labelling with w_m (f(y) - f(truth)) + w_g loss = ", value,
            ", but the true labelling has 0; it must return the maximum over all labellings");
    return found;
  }

  std::optional<Found> best_of_list(double w_m, double w_g,
                                    std::span<const detail::AnyLabelling> banned) const {
    const nb::object returned = call(model_.methods().k_best, w_m, w_g, banned.size() + 1);
    if (!nb::isinstance<nb::list>(returned) && !nb::isinstance<nb::tuple>(returned)) {
      nb::raise_type_error(
          "k_best of example %zu returned a value of type %s, but must return a "
          "list of labellings",
          i_, nb::type_name(returned.type()).c_str());
    }
    for (const nb::handle y : returned) {
      auto found = checked(nb::borrow(y), w_m, w_g, "k_best", true);
      if (!found) {
        nb::raise_type_error(
            "k_best of example %zu returned a list with None, but must return a "
            "list of labellings",
            i_);
      }
      if (!contains(banned, found->y)) return found;
    }
    require(nb::len(returned) <= banned.size(), "k_best of example ", i_,
            " returned the same labelling twice");
    return std::nullopt;
  }

  static bool contains(std::span<const detail::AnyLabelling> banned,
                       const detail::AnyLabelling& y) {
    return std::find(banned.begin(), banned.end(), y) != banned.end();
  }

  const PythonModel& model_;
  std::size_t i_;
  ScaledWeights w_;
  WeightArray& array_;
};

std::unique_ptr<detail::AnyOracle> PythonModel::oracle(std::size_t i, ScaledWeights w,
                                                       void* workspace) const {
  return std::make_unique<PythonOracle>(*this, i, w, *static_cast<WeightArray*>(workspace));
}

// Training ----------------------------------------------------------------------------------------

nb::dict to_python(const StructuredFit& fit) {
  nb::dict report;
  report["stop"] = std::string(to_string(fit.stop));
  report["passes"] = fit.passes;
  report["oracle_calls"] = fit.oracle_calls;
  report["primal"] = fit.primal;
  report["dual"] = fit.dual;
  report["relative_gap"] = fit.relative_gap;
  report["certified"] = fit.certified;
  return report;
}

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// (weights, report). `texts` are the options but the surrogate.
nb::tuple train_structured(const nb::object& user_model, const nb::list& X, const nb::list& Y,
                           const nb::object& surrogate,
                           const std::map<std::string, std::string>& texts,
                           const nb::object& read_feature, const nb::object& are_equal, int threads,
                           std::optional<double> time_limit_seconds, nb::object callback,
                           const std::optional<Floats>& start) {
  StructuredSvmOptions options;
  OptionTable table(options);
  for (const auto& [name, text] : texts) table.set(name, text);
  options.surrogate = surrogate_of(surrogate);
  Reporter reporter(std::move(callback));
  RunControl control(std::ref(reporter),
                     time_limit_seconds.value_or(std::numeric_limits<double>::infinity()));
  const PythonModel model(methods_of(user_model, read_feature, are_equal), X, Y);
  const std::span<const float> first =
      start ? std::span<const float>(start->data(), start->size()) : std::span<const float>();
  StructuredWeights result;
  {
    const nb::gil_scoped_release released;
    Executor executor(threads);
    result =
        reporter.train([&] { return detail::train_any(model, options, executor, control, first); });
  }
  reporter.rethrow();
  return nb::make_tuple(to_numpy(std::move(result.weights)), to_python(result.fit));
}

/// [(option, type, default, range, help)]
nb::list structured_options() {
  StructuredSvmOptions options;
  nb::list list;
  for (const OptionInfo& option : OptionTable(options).list()) {
    list.append(
        nb::make_tuple(option.name, option.type, option.default_value, option.range, option.help));
  }
  return list;
}

}  // namespace

void bind_structured(nb::module_& m) {
  nb::class_<SlopeBounds>(m, "SlopeBounds")
      .def_ro("lower", &SlopeBounds::lower)
      .def_ro("upper", &SlopeBounds::upper)
      .def_ro("lower_strict", &SlopeBounds::lower_strict)
      .def_ro("upper_strict", &SlopeBounds::upper_strict)
      .def_ro("floor", &SlopeBounds::floor)
      .def("contain", &SlopeBounds::contain, "h"_a, "g"_a);
  m.def("structured_options", &structured_options);
  m.def("train_structured", &train_structured, "model"_a, "X"_a, "y"_a, "surrogate"_a.none(),
        "options"_a, "read_feature"_a, "are_equal"_a, "threads"_a, "time_limit_seconds"_a.none(),
        "callback"_a.none(), "start"_a.noconvert() = nb::none());
}

}  // namespace margrove::python
