"""python -m gateway"""

from gateway.serving.run import main

if __name__ == "__main__":
    main()
