/// Application code to be called between two turns, while the loop is lent.
package protocol Callout: AnyObject, Sendable {
    func callOut()
}
