#pragma once
// What training and models return.

#include <limits>
#include <string>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/label_codec.hpp"

namespace margrove MARGROVE_API {

/// The k best labels of each row, best first; rows may have fewer than k.
struct RankedLabels {
  std::vector<std::size_t> pointers{0};  // num_rows + 1
  std::vector<LabelId> labels;
  std::vector<float> scores;
};

/// How a weight is stored: in 4 bytes; in 2 bytes, as the upper half of a float32; or in one byte,
/// as a multiple from -127 to 127 of a step that the weights of one feature share.
enum class WeightPrecision { float32, bfloat16, int8 };

/// A line that `margrove info` prints.
struct Fact {
  std::string name;
  std::string value;
};

/// How training ended. NaN stands for "not known". Kept in the model file, so nothing here may
/// depend on the number of threads.
struct FitReport {
  Stop stop = Stop::converged;
  int passes = 0;
  double primal = std::numeric_limits<double>::quiet_NaN();  // objective at the weights returned
  double dual = std::numeric_limits<double>::quiet_NaN();
  double relative_gap = std::numeric_limits<double>::quiet_NaN();
  struct Point {  // of the convergence curve; methods that solve labels one by one have none
    int pass;
    double primal;
    double dual;
  };
  std::vector<Point> curve;
  /// Option match_names: the weight of a text's similarity to a label's names, and what labels
  /// without training rows score beside it.
  double name_weight = std::numeric_limits<double>::quiet_NaN();
  double unseen_score = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> warnings;
};

/// The terms of score(x, y). It is the sum of the nodes' scores, and a node's score is the sum of
/// weight * (value - centre) over its features, the intercept included. Where columns were scaled
/// (Preprocessing::Kind::scale), values are those of the rows as given; otherwise they are those
/// that preprocessing makes of the rows.
struct Explanation {
  struct Contribution {
    FeatureId feature;  // num_features(): the intercept; the one after: the vector of the text
    float value;        // x_j
    float weight;       // W[j][node], per unit of the value
    double score;       // weight * (value - centre)
    float centre = 0;   // of a scaled column, otherwise 0
  };
  struct Node {
    LabelId label;
    bool is_spawned;  // the leaf that stands for an inner label itself
    double score;
    std::vector<Contribution> strongest;  // by |score|, largest first
  };
  /// Kernel classifiers have sources instead of nodes. The score is the sum of the sources' scores,
  /// and a source's score is the sum over its paths of weight * sum_i u_i (product of kernels)(x_i,
  /// x).
  struct Path {
    std::string name;  // "a * b" for the product of kernels a and b
    double weight;     // of the path
    double score;
  };
  struct Source {
    std::string name;  // the columns that its kernels read, or the views; "(intercept)"
    double score;
    std::vector<Path> strongest;  // by |score|, largest first
  };
  LabelId label = 0;
  double score = 0;
  std::vector<Node> nodes;      // from the root down
  std::vector<Source> sources;  // by |score|, largest first; the intercept last
};

}  // namespace margrove
