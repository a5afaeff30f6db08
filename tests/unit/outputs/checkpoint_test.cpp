#include "base/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "outputs/field/pairwise_field.hpp"
#include "outputs/label_set/label_set_oracle.hpp"
#include "outputs/path/path_oracle.hpp"
#include "structured/train_structured.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using testing::tiny_problem;
using testing::TinyProblem;

/// Keeps every state in memory.
class KeptStates final : public Checkpoint {
 public:
  explicit KeptStates(std::optional<TensorMap> start = {}) : start_(std::move(start)) {}
  const TensorMap* saved() const override { return start_ ? &*start_ : nullptr; }
  bool is_due() const override { return true; }
  void write(TensorMap state) override { states.push_back(std::move(state)); }
  std::vector<TensorMap> states;

 private:
  std::optional<TensorMap> start_;
};

StructuredResult trained(const PathModel& model, const StructuredTraining& training,
                         KeptStates& states) {
  Executor executor(1);
  RunControl control;
  const StructuredInputs<PathModel> inputs{.continuation = {.checkpoint = &states}};
  return train_structured(model, training, executor, control, inputs);
}

template <class Labelling>
Labelling through_words(const Labelling& y) {
  std::vector<std::uint32_t> words;
  append_words(y, words);
  Labelling read;
  EXPECT_TRUE(read_words(words, read));
  return read;
}

TEST(Checkpoint, labellings_are_the_same_after_a_round_trip) {
  EXPECT_EQ(through_words<std::uint32_t>(7), 7u);
  EXPECT_EQ(through_words(std::vector<std::uint32_t>{3, 0, 4'000'000'000}),
            (std::vector<std::uint32_t>{3, 0, 4'000'000'000}));
  EXPECT_EQ(through_words(LabelVector{1, 0, 1}), (LabelVector{1, 0, 1}));
  EXPECT_EQ(through_words(NodeShares{{2, 5}, {}}), (NodeShares{{2, 5}, {}}));
  EXPECT_EQ(through_words(NodeShares{{2, 5}, {0.1, 1.0 / 3}}),
            (NodeShares{{2, 5}, {0.1, 1.0 / 3}}));
  EXPECT_EQ(through_words(NodeShares{}), NodeShares{});
  EXPECT_EQ(through_words(FieldShares{{0.5F, 1.0F}, {0.25F}}),
            (FieldShares{{0.5F, 1.0F}, {0.25F}}));
}

TEST(Checkpoint, words_of_another_labelling_are_refused) {
  std::uint32_t leaf = 0;
  EXPECT_FALSE(read_words(std::vector<std::uint32_t>{1, 2}, leaf));
  LabelVector labels;
  EXPECT_FALSE(read_words(std::vector<std::uint32_t>{1, 300}, labels));
  NodeShares nodes;
  EXPECT_FALSE(read_words(std::vector<std::uint32_t>{}, nodes));
  EXPECT_FALSE(read_words(std::vector<std::uint32_t>{2, 5}, nodes));
  EXPECT_FALSE(read_words(std::vector<std::uint32_t>{1, 5, 6}, nodes));
  FieldShares shares;
  EXPECT_FALSE(read_words(std::vector<std::uint32_t>{3, 5}, shares));
}

TEST(Checkpoint, bcfw_goes_on_from_every_pass_to_the_same_optimum) {
  const TinyProblem p = tiny_problem(15, 0.2, 40, 10, 3);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized);
  const StructuredTraining training{.C = 2, .tolerance = 1e-6, .max_passes = 3000};
  KeptStates first;
  const StructuredFit whole = trained(model, training, first).fit;
  ASSERT_EQ(whole.stop, Stop::converged);
  ASSERT_GE(first.states.size(), 3u);
  double last_dual = 0;
  for (std::size_t k = 0; k < first.states.size(); k += 1 + first.states.size() / 12) {
    // With no further pass the run is at the state itself.
    StructuredTraining none = training;
    none.max_passes = static_cast<int>(first.states[k].whole_number("passes"));
    KeptStates kept(first.states[k]);
    const StructuredFit there = trained(model, none, kept).fit;
    EXPECT_EQ(there.passes, none.max_passes);
    EXPECT_GE(there.dual, last_dual * (1 - 1e-6));
    last_dual = there.dual;

    KeptStates resumed(first.states[k]);
    const StructuredFit rest = trained(model, training, resumed).fit;
    EXPECT_EQ(rest.stop, Stop::converged);
    EXPECT_TRUE(rest.certified);
    EXPECT_GE(rest.passes, none.max_passes);
    EXPECT_NEAR(rest.primal, whole.primal, 2e-6 * whole.primal);
  }
}

class Epochs : public ::testing::TestWithParam<NodeStorage> {};

TEST_P(Epochs, after_every_state_give_the_same_weights) {
  const TinyProblem p = tiny_problem(40, 0.0, 25, 5, 6);
  const auto model = [&] {
    return PathModel(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::hamming, GetParam());
  };
  for (const char* surrogate : {"margin", "prob"}) {  // prob changes its surrogate half-way
    const StructuredTraining training{
        .surrogate = AnySurrogate::parse(surrogate), .solver = StructuredSolver::sgd, .epochs = 9};
    KeptStates first;
    const StructuredResult whole = trained(model(), training, first);
    ASSERT_EQ(first.states.size(), 9u);
    EXPECT_EQ(whole.fit.passes, 9);
    for (const TensorMap& state : first.states) {
      KeptStates resumed(state);
      const StructuredResult rest = trained(model(), training, resumed);
      EXPECT_EQ(rest.weights, whole.weights) << surrogate << " " << state.text("passes");
      EXPECT_EQ(rest.fit.passes, 9);
      EXPECT_EQ(resumed.states.size(), 9 - state.whole_number("passes"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, Epochs,
                         ::testing::Values(NodeStorage::dense, NodeStorage::blocks));

TEST(Checkpoint, a_numbering_that_does_not_fit_is_refused) {
  const TinyProblem p = tiny_problem(40, 0.0, 25, 5, 6);
  const StructuredTraining training{.solver = StructuredSolver::sgd, .epochs = 2};
  const auto train = [&](KeptStates& states, NodeStorage storage) {
    trained(PathModel(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::hamming, storage), training,
            states);
  };
  KeptStates first;
  train(first, NodeStorage::blocks);
  KeptStates for_dense(first.states.front());
  EXPECT_THAT([&] { train(for_dense, NodeStorage::dense); },
              ::testing::ThrowsMessage<ModelFileError>(HasSubstr("sgd.numbering")));
  TensorMap repeated = first.states.front();
  auto numbering = repeated.get<std::uint64_t>("sgd.numbering");
  numbering.back() = numbering.front();
  repeated.put<std::uint64_t>("sgd.numbering", numbering);
  KeptStates kept(std::move(repeated));
  EXPECT_THAT([&] { train(kept, NodeStorage::blocks); },
              ::testing::ThrowsMessage<ModelFileError>(HasSubstr("sgd.numbering")));
}

TEST(Checkpoint, a_state_that_does_not_fit_is_refused) {
  const TinyProblem p = tiny_problem(15, 0.2, 40, 10, 3);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized);
  const StructuredTraining training{.C = 2, .tolerance = 1e-6, .max_passes = 3};
  KeptStates first;
  trained(model, training, first);
  const auto refused = [&](const std::string& name, auto change, const std::string& message) {
    TensorMap state = first.states.back();
    change(state);
    KeptStates kept(std::move(state));
    EXPECT_THAT([&] { trained(model, training, kept); },
                ::testing::ThrowsMessage<ModelFileError>(HasSubstr(message)))
        << name;
  };
  refused(
      "sets", [](TensorMap& s) { s.put<std::uint64_t>("sets.end", std::vector<std::uint64_t>{0}); },
      "sets.end");
  refused(
      "ends",
      [](TensorMap& s) {
        auto ends = s.get<std::uint64_t>("sets.end");
        ends.back() += 1;
        s.put<std::uint64_t>("sets.end", ends);
      },
      "the ends of its parts must ascend to");
  refused(
      "duals", [](TensorMap& s) { s.put<double>("slopes", std::vector<double>{1.0}); }, "slopes");
  refused(
      "words",
      [](TensorMap& s) {
        auto ends = s.get<std::uint64_t>("labellings.end");
        ends.front() = ends.back();
        std::fill(ends.begin(), ends.end(), ends.back());
        s.put<std::uint64_t>("labellings.end", ends);
      },
      "labelling 0 is not one of this model");
}

}  // namespace
}  // namespace margrove
