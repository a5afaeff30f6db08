#pragma once
// The methods that registry.cpp lists. Each is defined in a file of its own or of its family.

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
Method spn_mkl();
Method lp_mkl();
Method simple_mkl();
Method average_mkl();
Method kernel_ridge();
Method structured();

}  // namespace margrove
