#pragma once
// The methods. Each is defined in a file of its own or of its family.

#include <vector>

#include "model/method.hpp"

namespace margrove {

Method flat_svm();
Method flat_lr();
Method hsvm();
Method nhsvm();
Method shared_svm();
Method hr_svm();
Method hr_lr();
Method top_down_svm();
Method label_trees();
Method level_svm();
Method spn_mkl();
Method lp_mkl();
Method simple_mkl();
Method average_mkl();
Method kernel_ridge();
Method structured();

/// In the order in which help and reference list them.
inline std::vector<Method> all_methods() {
  return {
      flat_svm(),   flat_lr(),      hsvm(),         nhsvm(),      shared_svm(), hr_svm(),
      hr_lr(),      top_down_svm(), label_trees(),  level_svm(),  spn_mkl(),    lp_mkl(),
      simple_mkl(), average_mkl(),  kernel_ridge(), structured(),
  };
}

}  // namespace margrove
