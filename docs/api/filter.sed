# What the code says in its own way, said to Doxygen: implicit conversions, defaulted comparisons, what is deleted.
# Specialisations for other libraries say nothing that their template does not.
/^struct (fmt::formatter|std::hash)</,/^\};/d
s|// NOLINT\(google-explicit-constructor\)|///< Converts without being asked.|
s|^( *(friend )?(constexpr )?(bool\|auto) operator(==\|<=>)\(.*= default;)$|\1  ///< Member by member.|
s|^( *.*\(const .*&\)( noexcept)? = delete;)$|\1  ///< There is one of it.|
s|^( *[A-Za-z]+& operator=\([A-Za-z]+&&.*= default;)$|\1  ///< Moves.|
s| *// NOLINT.*$||
