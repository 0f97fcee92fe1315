/// What somebody waits for who goes a way, and since when, by the loop's clock.
package struct AwaitedStep: Sendable {
    package let step: ProxyStep
    package let since: Int64
}
