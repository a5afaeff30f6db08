#include "kernel/gram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "kernel/path_kernels.hpp"
#include "margrove/errors.hpp"
#include "testing.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;
using ::testing::HasSubstr;

std::vector<GramMatrix> grams_of(const std::vector<KernelSpec>& specs, const CsrView& X,
                                 int threads = 1) {
  Executor executor(threads);
  RunControl control;
  return gram_matrices(specs, X, executor, control);
}

KernelSpec spec_of(KernelType type, KernelScaling scaling = KernelScaling::none) {
  KernelSpec spec;
  spec.name = std::string(name_of(type));
  spec.type = type;
  spec.width = 1.3;
  spec.width_in_medians = false;
  spec.degree = 3;
  spec.slope = 0.5;
  spec.offset = 2;
  spec.scaling = scaling;
  return spec;
}

const std::vector<KernelType> kFromValues{
    KernelType::linear,       KernelType::polynomial, KernelType::gaussian,
    KernelType::laplacian,    KernelType::chi2,       KernelType::exponential_chi2,
    KernelType::intersection, KernelType::cosine,     KernelType::exponential};

std::vector<double> dense_row(const CsrView& X, std::size_t i) {
  std::vector<double> row(X.num_columns(), 0.0);
  const auto sparse = X.row(i);
  for (std::size_t k = 0; k < sparse.size(); ++k) {
    row[sparse.columns[k]] = static_cast<double>(sparse.values[k]);
  }
  return row;
}

/// Straight from the definitions.
double direct(const KernelSpec& spec, const std::vector<double>& x, const std::vector<double>& z) {
  double dot = 0, xx = 0, zz = 0, l1 = 0, chi2 = 0, additive = 0, least = 0, l2 = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    dot += x[j] * z[j];
    xx += x[j] * x[j];
    zz += z[j] * z[j];
    l1 += std::abs(x[j] - z[j]);
    l2 += (x[j] - z[j]) * (x[j] - z[j]);
    least += std::min(x[j], z[j]);
    if (x[j] + z[j] > 0) {
      chi2 += (x[j] - z[j]) * (x[j] - z[j]) / (x[j] + z[j]);
      additive += 2 * x[j] * z[j] / (x[j] + z[j]);
    }
  }
  switch (spec.type) {
    case KernelType::linear:
      return dot;
    case KernelType::polynomial:
      return std::pow(spec.slope * dot + spec.offset, spec.degree);
    case KernelType::gaussian:
      return std::exp(-l2 / (2 * spec.width * spec.width));
    case KernelType::laplacian:
      return std::exp(-l1 / spec.width);
    case KernelType::exponential:
      return std::exp(-std::sqrt(l2) / spec.width);
    case KernelType::chi2:
      return additive;
    case KernelType::exponential_chi2:
      return std::exp(-chi2 / spec.width);
    case KernelType::intersection:
      return least;
    case KernelType::cosine:
      return xx * zz > 0 ? dot / std::sqrt(xx * zz) : 0.0;
    default:
      return 0;
  }
}

TEST(Gram, rows_that_differ_little_have_the_distance_of_the_definition) {
  // Most of the squares cancel: all rows have the value 1 in a column, and 1e-8 apart elsewhere.
  for (const FeatureId num_columns : {3U, 300U}) {
    CsrMatrix X(num_columns);
    for (int i = 0; i < 6; ++i) {
      X.append_row(std::vector<FeatureId>{0, num_columns - 1},
                   std::vector<float>{1e-8F * static_cast<float>(i * i), 1.0F});
    }
    for (const KernelType type : {KernelType::gaussian, KernelType::exponential}) {
      KernelSpec spec = spec_of(type);
      spec.width = 7e-8;
      const auto grams = grams_of({spec}, X);
      for (std::size_t i = 0; i < 6; ++i) {
        for (std::size_t j = 0; j < 6; ++j) {
          EXPECT_NEAR(grams[0].K.at(i, j), direct(spec, dense_row(X, i), dense_row(X, j)), 1e-6);
        }
      }
    }
  }
}

TEST(SymmetricMatrix, tiles_cover_the_lower_triangle_once) {
  for (const std::size_t n : {1, 63, 64, 65, 128, 200}) {
    SymmetricMatrix K(n);
    std::size_t entries = 0;
    for (std::size_t t = 0; t < K.num_tiles(); ++t) {
      const auto tile = K.tile(t);
      ASSERT_LE(tile.column, tile.row);
      ASSERT_EQ(K.values(t).size(), tile.num_rows * tile.num_columns);
      entries += K.values(t).size();
      for (std::size_t r = 0; r < tile.num_rows; ++r) {
        for (std::size_t c = 0; c < tile.num_columns; ++c) {
          K.values(t)[r * tile.num_columns + c] = static_cast<float>(
              (tile.row + r) + (tile.column + c) + 1000 * std::min(tile.row + r, tile.column + c));
        }
      }
    }
    EXPECT_EQ(entries * sizeof(float), SymmetricMatrix::num_bytes(n));
    for (std::size_t i = 0; i < n; i += 7) {
      for (std::size_t j = 0; j < n; j += 5) {
        ASSERT_EQ(K.at(i, j), static_cast<float>(i + j + 1000 * std::min(i, j)));
      }
    }
  }
}

TEST(Gram, entries_follow_the_definitions_dense_and_sparse) {
  for (const double zeros : {0.1, 0.9}) {  // stored dense, stored sparse
    const auto rows = random_rows(70, 12, 2, 3, /*non_negative=*/true, zeros);
    for (const KernelType type : kFromValues) {
      const auto spec = spec_of(type);
      const auto gram = grams_of({spec}, rows.X);
      for (std::size_t i = 0; i < 70; i += 3) {
        for (std::size_t j = 0; j < 70; ++j) {
          const double expected = direct(spec, dense_row(rows.X, i), dense_row(rows.X, j));
          ASSERT_NEAR(gram[0].K.at(i, j), expected, 1e-5 * (1 + std::abs(expected)))
              << spec.name << " " << i << " " << j;
        }
      }
    }
  }
}

TEST(Gram, kernels_see_their_columns_only) {
  const auto rows = random_rows(30, 10, 2, 3);
  auto spec = spec_of(KernelType::linear);
  spec.columns = {{1, 3}, {6, 7}};
  const auto gram = grams_of({spec}, rows.X);
  const auto x = dense_row(rows.X, 4);
  const auto z = dense_row(rows.X, 9);
  EXPECT_NEAR(gram[0].K.at(9, 4), x[1] * z[1] + x[2] * z[2] + x[6] * z[6], 1e-5);
}

TEST(Gram, same_bits_on_any_number_of_threads) {
  const auto rows = random_rows(150, 9, 2, 3, true);
  std::vector<KernelSpec> specs;
  for (const KernelType type : kFromValues) {
    specs.push_back(spec_of(type, KernelScaling::trace));
    specs.back().width_in_medians = true;
  }
  const auto one = grams_of(specs, rows.X, 1);
  for (const int threads : {2, 5}) {
    const auto many = grams_of(specs, rows.X, threads);
    for (std::size_t k = 0; k < specs.size(); ++k) {
      EXPECT_EQ(full_matrix(one[k].K), full_matrix(many[k].K)) << specs[k].name;
      EXPECT_EQ(one[k].kernel.spec.width, many[k].kernel.spec.width);
    }
  }
}

TEST(Gram, trace_scaling_makes_the_trace_n_and_diagonal_scaling_the_diagonal_1) {
  const auto rows = random_rows(90, 6, 2, 3, true);
  for (const KernelType type : kFromValues) {
    const auto grams = grams_of(
        {spec_of(type, KernelScaling::trace), spec_of(type, KernelScaling::diagonal)}, rows.X);
    double trace = 0;
    for (std::size_t i = 0; i < 90; ++i) {
      trace += grams[0].K.at(i, i);
      EXPECT_NEAR(grams[1].K.at(i, i), 1, 1e-5);
    }
    EXPECT_NEAR(trace, 90, 1e-3) << name_of(type);
  }
}

TEST(Gram, centring_makes_every_row_sum_to_zero_and_keeps_the_means) {
  const auto rows = random_rows(90, 6, 2, 3, true);
  auto spec = spec_of(KernelType::gaussian, KernelScaling::trace);
  spec.centred = true;
  const auto gram = grams_of({spec}, rows.X)[0];
  auto plain_spec = spec_of(KernelType::gaussian);
  const auto plain = grams_of({plain_spec}, rows.X)[0];
  ASSERT_EQ(gram.row_means.size(), 90U);
  for (std::size_t i = 0; i < 90; ++i) {
    double sum = 0;
    double mean = 0;
    for (std::size_t j = 0; j < 90; ++j) {
      sum += gram.K.at(i, j);
      mean += plain.K.at(i, j) / 90;
    }
    EXPECT_NEAR(sum, 0, 1e-3);
    EXPECT_NEAR(gram.row_means[i], mean * gram.kernel.factor, 1e-5);
  }
}

TEST(Gram, widths_in_medians_are_resolved_once) {
  CsrMatrix X(1);
  const std::vector<FeatureId> column{0};
  for (const float value : {0.0F, 1.0F, 3.0F}) X.append_row(column, std::vector<float>{value});
  auto spec = spec_of(KernelType::gaussian);
  spec.width = 0.5;
  spec.width_in_medians = true;
  const auto gram = grams_of({spec}, X)[0];  // distances 1, 2, 3
  EXPECT_NEAR(gram.kernel.spec.width, 1.0, 1e-12);
  EXPECT_FALSE(gram.kernel.spec.width_in_medians);
  EXPECT_NEAR(gram.K.at(1, 0), std::exp(-0.5), 1e-6);
}

TEST(CrossKernels, repeat_the_gram_matrix_on_training_rows) {
  for (const double zeros : {0.1, 0.9}) {
    const auto rows = random_rows(60, 12, 2, 3, true, zeros);
    std::vector<KernelSpec> specs;
    for (const KernelType type : kFromValues) {
      for (const auto scaling : {KernelScaling::trace, KernelScaling::diagonal}) {
        specs.push_back(spec_of(type, scaling));
        specs.back().name += name_of(scaling);
        specs.back().width_in_medians = true;
      }
    }
    const auto grams = grams_of(specs, rows.X);
    std::vector<FittedKernel> fitted;
    for (const auto& gram : grams) fitted.push_back(gram.kernel);
    const std::vector<std::uint32_t> some{0, 7, 8, 40};
    const auto B = select_rows(rows.X, some);
    for (const int threads : {1, 3}) {
      Executor executor(threads);
      const auto crossed = cross_kernels(fitted, rows.X, B, executor);
      for (std::size_t k = 0; k < specs.size(); ++k) {
        for (std::size_t i = 0; i < 60; ++i) {
          for (std::size_t j = 0; j < some.size(); ++j) {
            ASSERT_NEAR(crossed[k][i * some.size() + j], grams[k].K.at(i, some[j]), 1e-5)
                << specs[k].name;
          }
        }
      }
    }
  }
}

TEST(CrossKernels, inner_products_do_not_depend_on_how_many_columns_there_could_be) {
  const std::vector<FeatureId> columns{3, 700, 20'000};
  CsrMatrix A(20'001), B(20'001);
  A.append_row(columns, std::vector<float>{1.5F, -2, 0.25F});
  A.append_row(std::span(columns).subspan(1), std::vector<float>{3, 1e-3F});
  B.append_row(std::span(columns).first(2), std::vector<float>{0.1F, 7});
  B.append_row({}, std::vector<float>{});
  B.append_row(columns, std::vector<float>{1, 1, 1});
  const auto products = [&] {
    FittedKernel kernel;
    kernel.spec = spec_of(KernelType::linear);
    Executor executor(1);
    return cross_kernels(std::span(&kernel, 1), A, B, executor)[0];
  };
  const auto expected = products();
  for (CsrMatrix* X : {&A, &B}) X->set_num_columns(4'000'000'000U);
  EXPECT_EQ(products(), expected);
}

class KernelFile : public ::testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }
  void write(const std::string& text) { std::ofstream(path_) << text; }
  std::string path_ = ::testing::TempDir() + "kernel_table_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt";
};

TEST_F(KernelFile, precomputed_kernel_looks_rows_up_by_their_number) {
  write("1, 0.5, 0.25\n0.5 2 0.125\n0.25\t0.125 3\n");
  CsrMatrix X(2);
  const std::vector<FeatureId> column{1};
  for (const float number : {3.0F, 1.0F}) X.append_row(column, std::vector<float>{number});
  X.set_num_columns(2);
  auto spec = spec_of(KernelType::precomputed);
  spec.file = path_;
  spec.columns = {{1, 2}};
  const auto gram = grams_of({spec}, X)[0];
  EXPECT_EQ(gram.K.at(0, 0), 3);
  EXPECT_EQ(gram.K.at(1, 0), 0.25);
  EXPECT_EQ(gram.K.at(1, 1), 1);
}

template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(KernelFile, wrong_tables_throw_with_file_and_line) {
  EXPECT_THAT(message_of([&] { read_kernel_table("/no/such/file"); }), HasSubstr("cannot be read"));
  write("1 2\n3 x\n");
  EXPECT_THAT(message_of([&] { read_kernel_table(path_); }),
              HasSubstr(path_ + ":2: entry 2 is not a finite number"));
  write("1 2\n3\n");
  EXPECT_THAT(message_of([&] { read_kernel_table(path_); }),
              HasSubstr(":2: has 1 numbers, but must have 2"));
  write("\n\n");
  EXPECT_THAT(message_of([&] { read_kernel_table(path_); }), HasSubstr("is empty"));
  write("1 2 3\n4 5 6\n");
  CsrMatrix X(1);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{7});
  auto spec = spec_of(KernelType::precomputed);
  spec.file = path_;
  spec.columns = {{0, 1}};
  EXPECT_THAT(message_of([&] { grams_of({spec}, X); }), HasSubstr("2 x 3, but must be square"));
  write("1 0\n0 1\n");
  EXPECT_THAT(message_of([&] { grams_of({spec}, X); }),
              HasSubstr("row 0 has the number 7, but must be a whole number from 1 to 2"));
}

TEST(KernelSpec, wrong_ones_throw_with_their_name) {
  const auto message = [](const auto& change) {
    auto spec = spec_of(KernelType::gaussian);
    spec.name = "mine";
    change(spec);
    return message_of([&] { check_kernel(spec, 5); });
  };
  EXPECT_THAT(message([](KernelSpec& s) { s.width = 0; }), HasSubstr("kernel mine: width is 0"));
  const auto poly = [](KernelSpec& s) { s.type = KernelType::polynomial; };
  EXPECT_THAT(message([&](KernelSpec& s) {
                poly(s);
                s.degree = 0;
              }),
              HasSubstr("degree is 0"));
  EXPECT_THAT(message([&](KernelSpec& s) {
                poly(s);
                s.slope = -1;
              }),
              HasSubstr("slope is -1"));
  EXPECT_THAT(message([&](KernelSpec& s) {
                poly(s);
                s.offset = -1;
              }),
              HasSubstr("offset is -1"));
  EXPECT_THAT(message([](KernelSpec& s) {
                s.columns = {{3, 6}};
              }),
              HasSubstr("columns are 4-6, but must lie within 1-5"));
  EXPECT_THAT(message([](KernelSpec& s) { s.columns = {{2, 4}, {3, 5}}; }), HasSubstr("overlap"));
  EXPECT_THAT(message([](KernelSpec& s) {
                s.centred = true;
                s.scaling = KernelScaling::diagonal;
              }),
              HasSubstr("centred and scaled to unit diagonal"));
  EXPECT_THAT(message([](KernelSpec& s) { s.type = KernelType::precomputed; }),
              HasSubstr("no file is given"));
  EXPECT_THAT(message([](KernelSpec& s) {
                s.type = KernelType::precomputed;
                s.file = "f";
              }),
              HasSubstr("each row's number"));
  EXPECT_THAT(message_of([] { kernel_type("rbf"); }),
              HasSubstr("type is 'rbf', but must be one of linear, polynomial, gaussian"));
  EXPECT_THAT(message_of([] { kernel_scaling("x"); }), HasSubstr("one of none, trace, diagonal"));
}

TEST(Gram, wrong_data_throw_with_the_row) {
  const auto rows = random_rows(10, 3, 2, 3);
  for (const auto type :
       {KernelType::chi2, KernelType::exponential_chi2, KernelType::intersection}) {
    EXPECT_THAT(message_of([&] { grams_of({spec_of(type)}, rows.X); }),
                HasSubstr("but must be >= 0"));
  }
  CsrMatrix zeros(2);
  zeros.append_row({}, {});
  zeros.append_row({}, {});
  EXPECT_THAT(
      message_of([&] { grams_of({spec_of(KernelType::linear, KernelScaling::trace)}, zeros); }),
      HasSubstr("its trace over the training rows is 0"));
  EXPECT_THAT(message_of([&] { grams_of({}, CsrMatrix(2)); }), HasSubstr("rows is 0"));
  Executor executor(1);
  EXPECT_THAT(message_of([&] { cross_kernels({}, CsrMatrix(2), CsrMatrix(3), executor); }),
              HasSubstr("have 2 columns, but must have 3"));
}

TEST(KernelMemory, covers_halves_of_the_kernels_and_their_sum) {
  const auto rows = random_rows(1000, 6, 2, 3);
  EXPECT_GE(kernel_training_memory(rows.X, 10, 1, 1).total(),
            10U * 500 * 1000 * 4 + 1000 * 1000 * 4);
}

TEST(PathKernels, combine_and_forms_follow_the_definitions_on_any_number_of_threads) {
  const auto rows = random_rows(130, 6, 2, 3);
  const auto grams = grams_of({gaussian(0.5), gaussian(1), polynomial(2)}, rows.X);
  const PathKernels kernels(matrices(grams), {{0}, {1}, {0, 1}, {1, 1, 2}, {2}});
  const std::vector<double> weights{0.5, 0, 0.25, 2, 1};
  const auto entry = [&](std::size_t m, std::size_t i, std::size_t j) {
    const double a = grams[0].K.at(i, j), b = grams[1].K.at(i, j), c = grams[2].K.at(i, j);
    return std::vector<double>{a, b, a * b, b * b * c, c}[m];
  };
  Random random(3);
  std::vector<std::vector<double>> u(2, std::vector<double>(130));
  for (auto& each : u) {
    for (double& value : each) value = random.uniform() < 0.5 ? 0.0 : random.normal();
  }
  const std::vector<std::span<const double>> views(u.begin(), u.end());
  std::vector<std::vector<float>> combined;
  std::vector<std::vector<double>> forms;
  for (const int threads : {1, 2, 5}) {
    Executor executor(threads);
    combined.emplace_back(130 * 130);
    kernels.combine(weights, executor, combined.back());
    forms.emplace_back(5, -7.0);
    kernels.quadratic_forms(views, {true, true, true, true, false}, executor, forms.back());
  }
  for (std::size_t i = 0; i < 130; i += 3) {
    for (std::size_t j = 0; j < 130; ++j) {
      double expected = 0;
      for (std::size_t m = 0; m < 5; ++m) expected += weights[m] * entry(m, i, j);
      ASSERT_NEAR(combined[0][i * 130 + j], expected, 1e-5 * (1 + std::abs(expected)));
    }
  }
  for (std::size_t m = 0; m < 4; ++m) {
    double expected = 0;
    for (const auto& each : u) {
      for (std::size_t i = 0; i < 130; ++i) {
        for (std::size_t j = 0; j < 130; ++j) expected += each[i] * each[j] * entry(m, i, j);
      }
    }
    EXPECT_NEAR(forms[0][m], expected, 1e-5 * std::abs(expected));
  }
  EXPECT_EQ(forms[0][4], -7.0);  // not wanted
  EXPECT_EQ(combined[0], combined[1]);
  EXPECT_EQ(combined[0], combined[2]);
  EXPECT_EQ(forms[0], forms[1]);
  EXPECT_EQ(forms[0], forms[2]);
}

TEST(PathKernels, wrong_lists_throw) {
  const SymmetricMatrix a(3);
  const SymmetricMatrix b(4);
  const std::vector<const SymmetricMatrix*> uneven{&a, &b};
  const std::vector<const SymmetricMatrix*> one{&a};
  EXPECT_THAT(message_of([&] { PathKernels(uneven, {{0}}); }), HasSubstr("kernel 1 has 4 rows"));
  EXPECT_THAT(message_of([&] { PathKernels(one, {{1}}); }), HasSubstr("path 0 holds kernel 1"));
  EXPECT_THAT(message_of([&] {
                PathKernels(one, {{0}, {}});
              }),
              HasSubstr("path 1 holds no kernel"));
  EXPECT_THAT(message_of([&] { PathKernels({}, {}); }), HasSubstr("there are no kernels"));
}

}  // namespace
}  // namespace margrove
