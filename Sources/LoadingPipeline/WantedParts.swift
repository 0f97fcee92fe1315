/// What is told of a body that comes in parts, each in place of the one before (MISC-23).
package enum WantedParts {
    /// The body as it is.
    case none
    /// Each, with a response of its own.
    case every
    /// The last one, with its response.
    case last
}
