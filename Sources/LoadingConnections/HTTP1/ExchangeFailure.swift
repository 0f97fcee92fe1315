package import LoadingProtocols
package import LoadingSemantics

/// Why an exchange came to nothing.
package struct ExchangeFailure {
    package var error: LoadError
    /// What decides whether the request may go out again (CONN-10).
    package var safety: HTTP1RetrySafety

    package init(error: LoadError, safety: HTTP1RetrySafety) {
        self.error = error
        self.safety = safety
    }
}
