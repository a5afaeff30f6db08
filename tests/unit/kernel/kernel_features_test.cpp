#include "kernel/kernel_features.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/out_of_time.hpp"
#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"
#include "testing.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;
using Choice = KernelFeatures::Choice;
using ::testing::HasSubstr;

constexpr double kGamma = 0.05;

KernelFeatures fitted(const CsrView& X, const std::string& choice, double gamma = kGamma,
                      std::uint64_t seed = 0, int threads = 1) {
  Executor executor(threads);
  return KernelFeatures::fit(X, Choice::parse(choice), gamma, seed, executor, nullptr);
}

double product(const SparseRow& a, const SparseRow& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += double{a.values[k]} * double{b.values[k]};
  return sum;
}

double squared_distance_of(const SparseRow& a, const SparseRow& b, std::uint32_t num_columns) {
  std::vector<double> difference(num_columns, 0.0);
  for (std::size_t k = 0; k < a.size(); ++k) difference[a.columns[k]] += double{a.values[k]};
  for (std::size_t k = 0; k < b.size(); ++k) difference[b.columns[k]] -= double{b.values[k]};
  double sum = 0;
  for (const double each : difference) sum += each * each;
  return sum;
}

/// The root mean square and the largest difference of products of features from the kernel.
struct Difference {
  double mean = 0;
  double largest = 0;
};
Difference difference(const KernelFeatures& features, const CsrView& X) {
  const CsrMatrix phi = features.apply(X, Executor::serial(), nullptr);
  Difference found;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    for (std::size_t j = 0; j < X.num_rows(); ++j) {
      const double kernel =
          std::exp(-features.gamma * squared_distance_of(X.row(i), X.row(j), X.num_columns()));
      const double error = std::abs(product(phi.row(i), phi.row(j)) - kernel);
      found.largest = std::max(found.largest, error);
      found.mean += error * error;
    }
  }
  found.mean = std::sqrt(found.mean) / static_cast<double>(X.num_rows());
  return found;
}

bool same_bits(const CsrView& a, const CsrView& b) {
  return std::ranges::equal(a.row_pointers(), b.row_pointers()) &&
         std::ranges::equal(a.columns(), b.columns()) && std::ranges::equal(a.values(), b.values());
}

TEST(KernelFeatures, of_all_rows_as_landmarks_have_the_kernel_as_product) {
  for (const double zeros : {0.1, 0.9}) {  // dense rows and sparse ones
    const CsrMatrix X = random_rows(90, 12, 3, 5, false, zeros).X;
    const KernelFeatures features = fitted(X, "nystroem:1000");
    EXPECT_EQ(features.size(), 90U);
    EXPECT_LT(difference(features, X).largest, 1e-4);
  }
}

TEST(KernelFeatures, come_nearer_to_the_kernel_the_more_they_are) {
  const CsrMatrix X = random_rows(150, 10, 3, 7).X;
  for (const std::string kind : {"nystroem:", "fourier:"}) {
    double before = 1;
    for (const char* size : {"8", "32", "128"}) {
      const double now = difference(fitted(X, kind + size), X).mean;
      EXPECT_LT(now, 0.75 * before) << kind << size;
      before = now;
    }
  }
  // The products of random Fourier features have a deviation of at most 1 / sqrt(size).
  EXPECT_LT(difference(fitted(X, "fourier:4096"), X).mean, 1 / std::sqrt(4096.0));
}

TEST(KernelFeatures, have_the_same_bits_on_any_number_of_threads_and_in_any_company) {
  const CsrMatrix X = random_rows(1100, 9, 3, 2).X;
  for (const char* choice : {"nystroem:37", "nystroem:40", "fourier:33"}) {
    const KernelFeatures one = fitted(X, choice), three = fitted(X, choice, kGamma, 0, 3);
    EXPECT_EQ(one.inverse_factor, three.inverse_factor);
    Executor threads(3);
    const CsrMatrix all = one.apply(X, Executor::serial(), nullptr);
    EXPECT_TRUE(same_bits(all, three.apply(X, threads, nullptr)));
    for (const std::size_t i : {0U, 17U, 1030U}) {
      const CsrMatrix alone = one.apply(row_range(X, i, i + 1), Executor::serial(), nullptr);
      EXPECT_TRUE(std::ranges::equal(alone.row(0).values, all.row(i).values)) << choice << i;
    }
  }
}

TEST(KernelFeatures, depend_on_the_seed) {
  const CsrMatrix X = random_rows(60, 5, 3, 2).X;
  for (const char* choice : {"nystroem:7", "fourier:7"}) {
    const CsrMatrix first = fitted(X, choice).apply(X, Executor::serial(), nullptr);
    EXPECT_TRUE(same_bits(first, fitted(X, choice).apply(X, Executor::serial(), nullptr)));
    const KernelFeatures other = fitted(X, choice, kGamma, 1);
    EXPECT_FALSE(same_bits(first, other.apply(X, Executor::serial(), nullptr)));
  }
}

TEST(KernelFeatures, leave_out_columns_that_training_did_not_have) {
  const CsrMatrix X = random_rows(40, 6, 3, 2).X;
  CsrMatrix wider(9);
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    std::vector<FeatureId> columns(X.row(i).columns.begin(), X.row(i).columns.end());
    std::vector<float> values(X.row(i).values.begin(), X.row(i).values.end());
    columns.push_back(8);
    values.push_back(3);
    wider.append_row(columns, values);
  }
  for (const char* choice : {"nystroem:7", "fourier:7"}) {
    const KernelFeatures features = fitted(X, choice);
    EXPECT_TRUE(same_bits(features.apply(X, Executor::serial(), nullptr),
                          features.apply(wider, Executor::serial(), nullptr)));
  }
}

TEST(KernelFeatures, take_equal_landmarks) {
  CsrMatrix X(2);
  for (int i = 0; i < 30; ++i) {
    X.append_row(std::vector<FeatureId>{0}, std::vector<float>{i % 2 == 0 ? 1.0F : -1.0F});
  }
  EXPECT_LT(difference(fitted(X, "nystroem:30"), X).largest, 1e-4);
}

TEST(KernelFeatures, have_the_gamma_of_the_median_distance_by_default) {
  CsrMatrix X(1);
  for (const float x : {0.0F, 3.0F}) {
    X.append_row(std::vector<FeatureId>{0}, std::vector<float>{x});
  }
  EXPECT_DOUBLE_EQ(fitted(X, "nystroem:2", 0).gamma, 1 / (2 * 9.0));
  EXPECT_DOUBLE_EQ(fitted(X, "fourier:2", 0).gamma, 1 / (2 * 9.0));
}

template <class E>
std::string message_of(const auto& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

TEST(KernelFeatures, choices_are_checked) {
  for (const char* text : {"none", "nystroem:500", "fourier:2000"}) {
    EXPECT_EQ(Choice::parse(text).to_text(), text);
  }
  for (const char* text :
       {"nystroem:0", "nystroem:-5", "fourier:", "fourier:2.5", "fourier:65537", "nystroem:many"}) {
    EXPECT_EQ(message_of<InvalidOption>([&] { Choice::parse(text); }),
              concat("option kernel_features is '", text,
                     "', but the number of features must be from 1 to 65536"));
  }
  for (const char* text : {"", "rbf:100", "nystroem", "nystroem500"}) {
    EXPECT_EQ(message_of<InvalidOption>([&] { Choice::parse(text); }),
              concat("option kernel_features is '", text,
                     "', but must be none, nystroem:N or fourier:N, for N features"));
  }
}

TEST(KernelFeatures, need_rows_and_distances_that_are_numbers) {
  EXPECT_THAT(message_of<InvalidInput>([] { fitted(CsrMatrix(3), "fourier:2"); }),
              HasSubstr("the number of rows is 0"));
  CsrMatrix huge(1);
  for (const float x : {1e38F, -1e38F, 3e38F}) {
    huge.append_row(std::vector<FeatureId>{0}, std::vector<float>{x});
  }
  for (const char* choice : {"nystroem:3", "fourier:3"}) {
    const KernelFeatures features = fitted(huge, choice, 0);
    EXPECT_GT(features.gamma, 0);
    const CsrMatrix phi = features.apply(huge, Executor::serial(), nullptr);
    EXPECT_TRUE(std::ranges::all_of(phi.view().values(), [](float x) { return std::isfinite(x); }));
  }
}

TEST(KernelFeatures, are_checked_after_loading) {
  KernelFeatures features = fitted(random_rows(20, 5, 3, 2).X, "nystroem:7");
  features.check();
  features.inverse_factor.pop_back();
  EXPECT_THAT(message_of<InvalidInput>([&] { features.check(); }),
              HasSubstr("the matrix has 27 numbers, but must have 28"));
  features.inverse_factor.push_back(std::nanf(""));
  EXPECT_THAT(message_of<InvalidInput>([&] { features.check(); }), HasSubstr("not finite"));
  features.gamma = 0;
  EXPECT_THAT(message_of<InvalidInput>([&] { features.check(); }), HasSubstr("gamma is 0"));
  features = {};
  EXPECT_THAT(message_of<InvalidInput>([&] { features.check(); }), HasSubstr("there are 0"));
}

TEST(KernelFeatures, end_where_the_control_asks) {
  const CsrMatrix X = random_rows(300, 5, 3, 2).X;
  RunControl control;
  control.interrupt();
  const auto fit = [&] {
    KernelFeatures::fit(X, Choice::parse("nystroem:300"), 0, 0, Executor::serial(), &control);
  };
  EXPECT_THROW(fit(), OutOfTime);
  EXPECT_THROW(fitted(X, "fourier:5").apply(X, Executor::serial(), &control), OutOfTime);
}

TEST(KernelFeatures, report_often_enough_for_an_interruption) {
  const CsrMatrix X = random_rows(2000, 5, 3, 2).X;
  for (const char* choice : {"nystroem:300", "fourier:300"}) {
    const auto make = [&](int num_reports) {
      int left = num_reports;
      RunControl control([&](const Progress& progress) {
        EXPECT_EQ(progress.stage, "kernel features");
        EXPECT_LE(progress.done, progress.total);
        return --left > 0;
      });
      KernelFeatures::fit(X, Choice::parse(choice), 1, 0, Executor::serial(), &control)
          .apply(X, Executor::serial(), &control);
      return num_reports - left;
    };
    const int all = make(1'000'000);
    // In the factor, its inverse and the rows; or in the random numbers and the rows.
    EXPECT_GE(all, choice[0] == 'n' ? 10 : 3);
    for (int report = 1; report <= all; ++report) EXPECT_THROW(make(report), OutOfTime);
  }
}

}  // namespace
}  // namespace margrove
