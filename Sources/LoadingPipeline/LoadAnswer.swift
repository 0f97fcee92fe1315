/// Whether the client lets the load go on at once or will say so later.
package enum LoadAnswer {
    case now
    case later
}
