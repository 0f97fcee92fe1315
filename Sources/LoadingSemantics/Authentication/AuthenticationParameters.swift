/// The `name=value` pairs of a challenge or of `Authentication-Info` (RFC 9110 §11.2).
package struct AuthenticationParameters: Sendable, Equatable {
    package struct Parameter: Sendable, Equatable {
        /// In lower case.
        package var name: String
        /// Without quotes and escapes.
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// In the order of the field.
    package var all: [Parameter]

    package init(_ all: [Parameter] = []) {
        self.all = all
    }

    /// The first parameter of that name, in lower case. A parameter must not occur twice, so later ones are ignored.
    package subscript(name: String) -> String? {
        all.first { $0.name == name }?.value
    }
}
