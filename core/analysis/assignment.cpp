#include "analysis/assignment.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace refhist {

namespace {

/// The Hungarian method: rows are added one by one, each by the cheapest chain of changes of columns. Row and
/// column 0 are none.
class Assignment {
 public:
  explicit Assignment(const std::vector<std::vector<double>>& costs)
      : costs_(costs),
        columns_(costs.empty() ? 0 : costs.front().size()),
        row_price_(costs.size() + 1),
        column_price_(columns_ + 1),
        row_of_(columns_ + 1),
        before_(columns_ + 1) {}

  void add(std::size_t row) {
    row_of_[0] = row;
    least_.assign(columns_ + 1, std::numeric_limits<double>::infinity());
    reached_.assign(columns_ + 1, false);
    std::size_t column = 0;
    do {
      column = next_column(column);
    } while (row_of_[column] != 0);
    while (column != 0) {
      row_of_[column] = row_of_[before_[column]];
      column = before_[column];
    }
  }

  [[nodiscard]] std::vector<std::size_t> columns() const {
    std::vector<std::size_t> found(costs_.size());
    for (std::size_t column = 1; column <= columns_; ++column) {
      if (row_of_[column] != 0) found[row_of_[column] - 1] = column - 1;
    }
    return found;
  }

 private:
  std::size_t next_column(std::size_t from) {
    reached_[from] = true;
    const std::size_t row = row_of_[from];
    double step = std::numeric_limits<double>::infinity();
    std::size_t next = 0;
    for (std::size_t column = 1; column <= columns_; ++column) {
      if (reached_[column]) continue;
      const double cost = costs_[row - 1][column - 1] - row_price_[row] - column_price_[column];
      if (cost < least_[column]) {
        least_[column] = cost;
        before_[column] = from;
      }
      if (least_[column] < step) {
        step = least_[column];
        next = column;
      }
    }
    change_prices(step);
    return next;
  }

  void change_prices(double step) {
    for (std::size_t column = 0; column <= columns_; ++column) {
      if (reached_[column]) {
        row_price_[row_of_[column]] += step;
        column_price_[column] -= step;
      } else {
        least_[column] -= step;
      }
    }
  }

  const std::vector<std::vector<double>>& costs_;
  std::size_t columns_;
  std::vector<double> row_price_;
  std::vector<double> column_price_;
  std::vector<std::size_t> row_of_;
  std::vector<std::size_t> before_;
  std::vector<double> least_;
  std::vector<bool> reached_;
};

}  // namespace

std::vector<std::size_t> cheapest_assignment(const std::vector<std::vector<double>>& costs) {
  // The search for a column would not end.
  if (!costs.empty() && costs.size() > costs.front().size()) fail("there are more rows than columns");
  Assignment assignment(costs);
  for (std::size_t row = 1; row <= costs.size(); ++row) assignment.add(row);
  return assignment.columns();
}

}  // namespace refhist
