// train_structured() for models of users: compiles the solvers for detail::AnyStructuredModel.

#include <memory>
#include <optional>
#include <span>

#include "margrove/structured.hpp"
#include "structured/train_structured.hpp"

namespace margrove {
namespace {

/// A user's model with the interface that solvers and searches take.
class UserModel {
 public:
  using Labelling = detail::AnyLabelling;
  using Found = Candidate<Labelling>;
  struct Workspace {
    std::shared_ptr<void> held;
  };

  class Oracle {
   public:
    using Labelling = detail::AnyLabelling;
    explicit Oracle(std::unique_ptr<detail::AnyOracle> oracle) : oracle_(std::move(oracle)) {}
    Found argmax(double w_m, double w_g) const { return oracle_->argmax(w_m, w_g); }
    Found truth() const { return oracle_->truth(); }
    bool has_k_best() const { return oracle_->has_argmax_without(); }
    std::optional<Found> argmax_without(double w_m, double w_g,
                                        std::span<const Labelling> banned) const {
      return oracle_->argmax_without(w_m, w_g, banned);
    }
    std::optional<Found> constrained_argmax(double w_m, double w_g,
                                            const SlopeBounds& bounds) const {
      require<InvalidOption>(oracle_->has_constrained_argmax(),
                             "option search is 'angular', but this model has no oracle with bounds "
                             "on the slope; use convex-hull or bisecting");
      return oracle_->constrained_argmax(w_m, w_g, bounds);
    }

   private:
    std::unique_ptr<detail::AnyOracle> oracle_;
  };

  explicit UserModel(const detail::AnyStructuredModel& model) : model_(model) {}
  std::size_t num_examples() const { return model_.num_examples(); }
  std::size_t num_weights() const { return model_.num_weights(); }
  Oracle oracle(std::size_t i, ScaledWeights w, Workspace& workspace) const {
    if (!workspace.held) workspace.held = model_.workspace();
    return Oracle(model_.oracle(i, w, workspace.held.get()));
  }
  void difference(std::size_t i, const Labelling& y, SparseVector& out) const {
    model_.difference(i, y, out);
  }
  Labelling truth(std::size_t i) const { return model_.truth(i); }

 private:
  const detail::AnyStructuredModel& model_;
};

}  // namespace

StructuredWeights detail::train_any(const AnyStructuredModel& model,
                                    const StructuredSvmOptions& options, Executor& executor,
                                    RunControl& control, std::span<const float> start) {
  validate(options);
  require(model.num_examples() > 0,
          "train_structured: there are no examples, but must be at least one");
  StructuredTraining training = structured_training(options, options.C);
  training.minibatch = 1;
  StructuredInputs<UserModel> inputs;
  inputs.start = start;
  return train_structured(UserModel(model), training, executor, control, inputs);
}

}  // namespace margrove
