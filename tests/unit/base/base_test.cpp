#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/random.hpp"
#include "counted_seconds.hpp"
#include "margrove/control.hpp"
#include "margrove/errors.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"

namespace margrove {
namespace {

TEST(Errors, message_joins_parts_in_the_c_locale) {
  EXPECT_EQ(concat("x[", 3, "] is ", 0.1, ", but must be > ", 1e-300, 'c', std::uint64_t{7}),
            "x[3] is 0.1, but must be > 1e-300c7");
  EXPECT_THROW(require(false, "no"), InvalidInput);
  EXPECT_NO_THROW(require(true, "no"));
}

TEST(Executor, calls_every_index_once_on_any_number_of_threads) {
  for (const int threads : {1, 2, 5}) {
    Executor executor(threads);
    std::vector<int> calls(1000, 0);
    executor.for_each(calls.size(), [&](std::size_t i, int worker) {
      ASSERT_LT(worker, executor.size());
      ++calls[i];
    });
    EXPECT_EQ(calls, std::vector<int>(1000, 1));
  }
}

TEST(Executor, ordered_sum_has_the_same_bits_on_any_number_of_threads) {
  std::set<double> sums;
  for (const int threads : {1, 2, 5}) {
    Executor executor(threads);
    sums.insert(executor.ordered_sum(
        5000, [](std::size_t i, int) { return 1.0 / (1.0 + static_cast<double>(i)); }));
  }
  EXPECT_EQ(sums.size(), 1U);
}

TEST(Executor, a_task_that_throws_reaches_the_caller_and_leaves_the_pool_usable) {
  Executor executor(3);
  EXPECT_THROW(executor.for_each(100,
                                 [](std::size_t i, int) {
                                   if (i == 40) throw InvalidInput("forty");
                                 }),
               InvalidInput);
  EXPECT_EQ(executor.ordered_sum(10, [](std::size_t, int) { return 1.0; }), 10.0);
}

TEST(Executor, a_nested_call_runs_in_its_task) {
  Executor executor(2);
  const double sum = executor.ordered_sum(4, [&](std::size_t, int) {
    return executor.ordered_sum(5, [](std::size_t, int) { return 1.0; });
  });
  EXPECT_EQ(sum, 20.0);
}

TEST(Executor, negative_number_of_threads_throws) { EXPECT_THROW(Executor(-1), InvalidOption); }

TEST(Random, same_seed_gives_the_same_numbers_and_streams_differ) {
  Random a(1), b(1), c(1, 1);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

TEST(Random, below_is_uniform_and_normal_has_unit_variance) {
  Random random(3);
  std::vector<int> counts(7, 0);
  for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  double sum = 0, squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.02);
}

TEST(RunControl, stops_for_good_once_the_callback_says_so) {
  int calls = 0;
  RunControl control([&](const Progress&) { return ++calls < 3; });
  EXPECT_TRUE(control.proceed({}));
  EXPECT_TRUE(control.proceed({}));
  EXPECT_FALSE(control.proceed({}));
  EXPECT_FALSE(control.proceed());
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(control.stop_reason(), Stop::interrupted);
}

TEST(RunControl, interrupt_ends_work_without_a_report) {
  RunControl control;
  EXPECT_TRUE(control.proceed());
  control.interrupt();
  EXPECT_FALSE(control.proceed());
  EXPECT_EQ(control.stop_reason(), Stop::interrupted);
}

TEST(RunControl, counts_seconds_of_the_processor_if_asked_to) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  RunControl control(nullptr, kNone, RunControl::clock_of(RunControl::Time::cpu));
  EXPECT_TRUE(control.counts_cpu_seconds());
  EXPECT_FALSE(RunControl().counts_cpu_seconds());
  RunControl inner(control, nullptr);
  EXPECT_TRUE(inner.counts_cpu_seconds());
  volatile double work = 0;
  while (control.seconds() <= 0) work = work + 1;  // does not end if the clock stands still
  const double of_inner = inner.seconds();         // read first: the clock goes on between the two
  EXPECT_LE(of_inner, control.seconds());
}

TEST(RunControl, inner_work_ends_with_the_outer_and_not_the_reverse) {
  RunControl outer;
  RunControl first(outer, [](const Progress&) { return false; });
  EXPECT_FALSE(first.proceed(Progress{}));
  EXPECT_TRUE(outer.proceed());
  RunControl second(outer, nullptr);
  EXPECT_TRUE(second.proceed());
  outer.interrupt();
  EXPECT_FALSE(second.proceed());
  EXPECT_EQ(second.stop_reason(), Stop::interrupted);
}

TEST(RunControl, a_limit_of_the_outer_work_that_passes_in_a_report_is_a_time_limit) {
  RunControl outer(nullptr, 0.02, &testing_clock::counted_seconds);
  RunControl inner(outer, [&](const Progress& progress) {
    while (outer.proceed()) continue;
    return outer.proceed(progress);
  });
  EXPECT_FALSE(inner.proceed(Progress{}));
  EXPECT_EQ(inner.stop_reason(), Stop::time_limit);
}

TEST(RunControl, counts_the_seconds_of_its_clock_and_inner_work_those_of_the_outer) {
  RunControl outer(nullptr, 1.0, &testing_clock::counted_seconds);
  RunControl inner(outer, nullptr, 0.5);
  int asked = 0;
  while (inner.proceed()) ++asked;
  EXPECT_EQ(inner.stop_reason(), Stop::time_limit);
  EXPECT_TRUE(outer.proceed());
  EXPECT_GE(asked, 200);  // each question reads the clock for both limits
  EXPECT_LE(asked, 500);
}

TEST(RunControl, stops_at_the_time_limit) {
  RunControl control(nullptr, 0.0);
  EXPECT_FALSE(control.proceed());
  EXPECT_EQ(control.stop_reason(), Stop::time_limit);
}

TEST(RunControl, inner_work_may_have_less_time_than_the_outer) {
  RunControl outer(nullptr, 1000.0);
  RunControl inner(outer, nullptr, 0.0);
  EXPECT_FALSE(inner.proceed());
  EXPECT_EQ(inner.stop_reason(), Stop::time_limit);
  EXPECT_TRUE(outer.proceed());
}

TEST(RunControl, seconds_left_are_those_of_the_nearest_limit) {
  EXPECT_EQ(RunControl().seconds_left(), std::numeric_limits<double>::infinity());
  RunControl outer(nullptr, 1000.0);
  EXPECT_NEAR(outer.seconds_left(), 1000.0, 100.0);
  EXPECT_NEAR(RunControl(outer, nullptr).seconds_left(), 1000.0, 100.0);
  EXPECT_NEAR(RunControl(outer, nullptr, 500.0).seconds_left(), 500.0, 100.0);
  EXPECT_NEAR(RunControl(outer, nullptr, 5000.0).seconds_left(), 1000.0, 100.0);
  EXPECT_EQ(RunControl(nullptr, 0.0).seconds_left(), 0.0);
}

struct ExampleOptions {
  double C = 1.0;
  int max_passes = 100;
  bool shrink = true;
  std::string loss = "hinge";
  static auto fields() {
    return std::tuple{
        field("C", &ExampleOptions::C, positive, "loss weight"),
        field("max_passes", &ExampleOptions::max_passes, at_least(1), "passes over the data"),
        field("shrink", &ExampleOptions::shrink, "leave out variables at a bound"),
        field("loss", &ExampleOptions::loss, detail::Choices{{"hinge", "squared-hinge"}},
              "point loss"),
    };
  }
};

TEST(Options, table_sets_gets_and_lists_what_the_struct_declares) {
  ExampleOptions options;
  OptionTable table(options);
  table.set("C", "0.25");
  table.set("max_passes", "7");
  table.set("shrink", "false");
  table.set("loss", "squared-hinge");
  EXPECT_EQ(options.C, 0.25);
  EXPECT_EQ(options.max_passes, 7);
  EXPECT_FALSE(options.shrink);
  EXPECT_EQ(table.get("loss"), "squared-hinge");
  ASSERT_EQ(table.list().size(), 4U);
  EXPECT_EQ(table.list()[0].default_value, "1");
  EXPECT_EQ(table.list()[3].range, "hinge | squared-hinge");
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidOption& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Options, each_wrong_value_names_the_option) {
  ExampleOptions options;
  OptionTable table(options);
  EXPECT_EQ(message_of([&] { table.set("C", "-1"); }), "option C is -1, but must be > 0");
  EXPECT_EQ(message_of([&] { table.set("C", "nan"); }), "option C is nan, but must be > 0");
  EXPECT_EQ(message_of([&] { table.set("C", "1x"); }), "option C is '1x', but must be a number");
  EXPECT_EQ(message_of([&] { table.set("max_passes", "1.5"); }),
            "option max_passes is '1.5', but must be a whole number");
  EXPECT_EQ(message_of([&] { table.set("max_passes", "99999999999"); }),
            "option max_passes is 99999999999, which is out of range");
  EXPECT_EQ(message_of([&] { table.set("loss", "cubic"); }),
            "option loss is 'cubic', but must be one of hinge, squared-hinge");
  EXPECT_EQ(message_of([&] { table.set("D", "1"); }),
            "unknown option D; known: C, max_passes, shrink, loss");
  options.C = std::nan("");
  EXPECT_EQ(message_of([&] { validate(options); }), "option C is nan, but must be > 0");
}

TEST(Options, tables_know_what_was_given_and_join_others) {
  struct Own {
    int depth = 3;
  } own;
  ExampleOptions options;
  OptionTable table(options);
  table.append(OptionTable(own, std::tuple{field("depth", &Own::depth, at_least(1), "levels")}),
               "trees: ");
  EXPECT_EQ(table.list().back().help, "trees: levels");
  EXPECT_FALSE(table.is_given("depth"));
  table.set("depth", "3");  // its default
  EXPECT_TRUE(table.is_given("depth"));
  EXPECT_FALSE(table.is_given("C"));
  EXPECT_EQ(message_of([&] { table.is_given("D"); }),
            "unknown option D; known: C, max_passes, shrink, loss, depth");
  table.set("depth", "5");
  EXPECT_EQ(own.depth, 5);
}

// In a namespace with a name, as a specialisation of a template of margrove cannot name what an
// unnamed one holds.
}  // namespace
namespace test_options {
enum class Solver { bcfw, sgd };
}  // namespace test_options
template <>
inline constexpr auto kEnumNames<test_options::Solver> = std::array{
    EnumName{test_options::Solver::bcfw, "bcfw"}, EnumName{test_options::Solver::sgd, "sgd"}};
namespace test_options {
struct Share {
  double value = 0.5;
  static Share parse(std::string_view text) {
    const double value = detail::parse_number("share", text);
    require<InvalidOption>(value <= 1, "option share is ", value, ", but must be <= 1");
    return {value};
  }
  std::string to_text() const { return concat(value); }
};
struct EnumOptions {
  Solver solver = Solver::sgd;
  Share share;
  static auto fields() {
    return std::tuple{field("solver", &EnumOptions::solver, "how the problem is solved"),
                      field("share", &EnumOptions::share, "of the rows")};
  }
};
}  // namespace test_options
namespace {

TEST(Options, enumerations_are_choices_by_the_names_of_their_table) {
  test_options::EnumOptions options;
  OptionTable table(options);
  EXPECT_EQ(table.list()[0].type, "choice");
  EXPECT_EQ(table.list()[0].range, "bcfw | sgd");
  EXPECT_EQ(table.list()[0].default_value, "sgd");
  table.set("solver", "bcfw");
  EXPECT_EQ(options.solver, test_options::Solver::bcfw);
  EXPECT_EQ(table.get("solver"), "bcfw");
  EXPECT_EQ(message_of([&] { table.set("solver", "newton"); }),
            "option solver is 'newton', but must be one of bcfw, sgd");
  EXPECT_EQ(options.solver, test_options::Solver::bcfw);
}

TEST(Options, types_with_a_text_of_their_own_parse_themselves) {
  test_options::EnumOptions options;
  OptionTable table(options);
  EXPECT_EQ(table.list()[1].type, "text");
  EXPECT_EQ(table.list()[1].default_value, "0.5");
  table.set("share", "0.25");
  EXPECT_EQ(options.share.value, 0.25);
  EXPECT_EQ(message_of([&] { table.set("share", "2"); }), "option share is 2, but must be <= 1");
  EXPECT_EQ(table.get("share"), "0.25");
}

}  // namespace
}  // namespace margrove
