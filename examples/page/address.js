// No module, since browsers load none from a file: the page then says how to start it.

document.documentElement.classList.toggle("from-file", location.protocol === "file:");
