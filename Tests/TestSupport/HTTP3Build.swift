internal import CLoadingHTTP3
package import Testing

/// The package trait `HTTP3`, which a build may be without.
package enum HTTP3Build {
    package static let isAvailable = cl3_is_available()
}

extension Trait where Self == ConditionTrait {
    /// Skips the test, by name, in a build without HTTP/3.
    package static var needsHTTP3: Self {
        .enabled(if: HTTP3Build.isAvailable, "the package is built without HTTP/3")
    }
}
