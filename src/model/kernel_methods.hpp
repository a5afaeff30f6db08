#pragma once

#include "margrove/model/method.hpp"

namespace margrove {

Method spn_mkl();
Method lp_mkl();
Method simple_mkl();
Method average_mkl();

}  // namespace margrove
