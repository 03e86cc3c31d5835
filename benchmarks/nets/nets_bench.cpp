#include "benchmarks/nets/net_cases.h"
#include "benchmarks/suite.h"

int main(int argc, char** argv) {
  return luminal::benchmarks::run_suite("nets", luminal::benchmarks::net_cases(), argc, argv);
}
