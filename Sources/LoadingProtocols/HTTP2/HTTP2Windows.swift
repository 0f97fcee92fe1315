/// How much a server may send ahead of its readers.
package struct HTTP2Windows: Sendable, Equatable {
    package init() {}
}
