// The language of custom_kernel(): a small, strict part of C. Here it is read; what it means is in
// custom_kernel.h. Whatever the text is, the result is a tree or an error with line and column.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/graph/dtype.h"

namespace luminal::kernel_source {

/// Where something stands, both counted from 1.
struct Position {
  int line = 1;
  int column = 1;
};

/// What is wrong, and where.
struct SourceError {
  Position position;
  std::string message;
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// An expression.
struct Expression {
  enum class Kind : uint8_t {
    kInteger,  // integer
    kNumber,   // number
    kName,     // text
    kIndex,    // text[children...]
    kCall,     // text(children...)
    kUnary,    // text children[0]
    kBinary,   // children[0] text children[1]
    kTernary,  // children[0] ? children[1] : children[2]
    kCast,     // (dtype) children[0]
  };
  Kind kind = Kind::kInteger;
  Position position;
  std::string text = {};
  int64_t integer = 0;
  double number = 0.0;
  graph::DType dtype = graph::DType::kF32;
  std::vector<ExpressionPtr> children = {};
  int depth = 1;
};

/// A statement.
struct Statement {
  enum class Kind : uint8_t {
    kDeclare,  // dtype name = value
    kAssign,   // name op value; name[indices] op value
    kFor,      // for (name = begin; name < end; name += step) body
    kIf,       // if (value) body else otherwise
    kBlock,    // { body }
  };
  Kind kind = Kind::kBlock;
  Position position;
  std::string name = {};
  graph::DType dtype = graph::DType::kF32;
  std::string op = {};  // "=", "+=", ...
  std::vector<ExpressionPtr> indices = {};
  ExpressionPtr value = {};  // what is assigned, the condition
  ExpressionPtr begin = {}, end = {};
  bool inclusive = false;  // <= end
  int64_t step = 1;
  std::vector<Statement> body = {};
  std::vector<Statement> otherwise = {};
};

/// Reads a program; throws SourceError.
std::vector<Statement> parse(std::string_view source);

/// Whether a word means something to the language, or to C, so that nothing may be called so.
bool is_reserved(std::string_view name);

}  // namespace luminal::kernel_source
